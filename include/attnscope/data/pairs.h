// File: pairs.h
// Pairs of prompts for causal experiments: a clean prompt, optionally its corrupt twin that aligns
// with it token by token, the answers and the wrong answers, the cluster it belongs to.
//
//   .jsonl       a line is an object with the keys below; lists of answers, and ids
//   .csv, .tsv   a header line names the columns; an empty field counts as absent
//   .json        auto-circuit's: {"prompts": [{clean, corrupt, answers, wrong_answers}, …]}, with
//                word_idxs as positions of words; or a list of objects
//
//   clean    also prompt, text, clean_prompt; as ids: clean_ids, ids
//   corrupt  also corrupted, counterfactual, corrupt_prompt …; as ids: corrupt_ids
//   answer   also answers, correct, target, io …; as ids: answer_id
//   wrong    also wrong_answer, incorrect, distractor …; as ids: wrong_id
//   group    also cluster, template; label for classifiers
// Pairs of one group are one cluster, which counts as one draw; so are groups that hold exactly the
// same pairs (same ids of clean, corrupt, answers and wrong answers), in any order and number.
// Every other column is kept; one that holds words of the prompt names their positions.
//
// Example:
//   PairSet set = read_pairs("pairs.jsonl", tokenizer, {.corrupt = CorruptUse::required},
//   warnings); set.pairs[0].clean.ids;  set.pairs[0].answers;
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/data/encoded_prompt.h"
#include "attnscope/data/prompt.h"
#include "attnscope/support/warnings.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {

// One line of a pairs file, before it is tokenised. A prompt is text or ids.
struct Pair {
  Prompt clean;
  std::optional<Prompt> corrupt;
  std::vector<std::string> answers, wrongs;         // text, a continuation as written (" Mary")
  std::vector<std::int64_t> answer_ids, wrong_ids;  // used where no text is given
  std::optional<std::int64_t> label;                // classifiers
  std::string group;                                // cluster; empty = a cluster of its own
  std::vector<Column> columns;                      // all other columns, as text
  // Named tokens, counted from the first token of the text; they hold if the text has `text_tokens`
  // tokens (0 = any number).
  std::map<std::string, int> named_tokens;
  int text_tokens = 0;
  std::int64_t line = 0;
};

// The same as tokens.
struct EncodedPair {
  EncodedPrompt clean;
  std::optional<EncodedPrompt> corrupt;       // as many tokens as `clean`
  std::vector<std::int64_t> answers, wrongs;  // vocabulary ids
  std::optional<std::int64_t> label;
  std::string group;
  int cluster = 0;  // of which draw it is part, by first appearance
  int mask = -1;    // position of the only mask token in `clean`, which the answers then fill
  std::map<std::string, std::vector<int>> spans;  // positions of the span columns in `clean`
  std::int64_t line = 0;
};

enum class CorruptUse { unused, optional, required };
// optional: answers and wrong answers where a pair has them.
enum class AnswerUse { unused, optional, answer, answer_and_wrong, label };
enum class Misaligned { stop, skip };

struct PairOptions {
  CorruptUse corrupt = CorruptUse::optional;
  AnswerUse answers = AnswerUse::answer_and_wrong;
  Misaligned misaligned = Misaligned::stop;
  bool foreign_ids = false;  // --answer-ids: correct_idx columns belong to this tokenizer
  bool skip_bad = false;
  std::int64_t limit = 0;       // pairs used; 0 = all
  std::int64_t vocabulary = 0;  // size, to check ids against; 0 = unknown
  EncodePromptOptions encode;
};

struct PairSet {
  std::vector<EncodedPair> pairs;
  std::string source;                    // file as given, or "--prompt"
  std::string sha256;                    // of the file; empty for an inline pair
  int n_groups = 0;                      // a pair without a group is one of its own
  int n_clusters = 0;                    // fewer where groups hold the same pairs
  std::int64_t misaligned = 0;           // dropped under Misaligned::skip
  std::int64_t bad_lines = 0;            // dropped under skip_bad
  std::int64_t multi_token_answers = 0;  // answers of which only the first token is used
};

// Reads and encodes a pairs file. Errors PA01… (exit 2) name file, line and column. `tokenizer` may
// be null where everything is ids. `warnings` gets one line for each kind of doubt, with a count:
// answers of several tokens, answers without the space that would make another token of them,
// corrupt prompts equal to the clean ones, pairs left out, a single group, groups that hold the
// same pairs.
PairSet read_pairs(const std::string& path, const Tokenizer* tokenizer, const PairOptions& options,
                   Warnings& warnings);
// The same for pairs that are there already (an inline --prompt).
PairSet encode_pairs(const std::vector<Pair>& pairs, const std::string& source,
                     const Tokenizer* tokenizer, const PairOptions& options, Warnings& warnings);

}  // namespace attnscope
