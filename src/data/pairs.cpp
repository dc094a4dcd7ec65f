#include "attnscope/data/pairs.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "answer_encoder.h"
#include "attnscope/data/positions.h"
#include "attnscope/support/error.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "pair_clusters.h"
#include "pair_reader.h"

namespace attnscope {
namespace {

constexpr const char* kMisaligned = "PA04";
constexpr const char* kForeignIds = "PA07";

[[noreturn]] void bad_pair(const char* code, ErrorDetail detail) {
  throw Error(ErrorKind::input, code, std::move(detail));
}

// A kind of doubt: how often, and where first.
struct Doubt {
  std::int64_t count = 0;
  std::string first;
  void add(const std::string& example) {
    if (count++ == 0) first = example;
  }
};

// "a|b|c": the tokens of a prompt, as its author can compare them.
std::string shown_tokens(const EncodedPrompt& prompt) {
  return escape_untrusted(join(prompt.token_texts, "|"), 600);
}

void check_alignment(const EncodedPrompt& clean, const EncodedPrompt& corrupt) {
  if (clean.size() == corrupt.size()) return;
  const auto [a, b] =
      std::mismatch(clean.ids.begin(), clean.ids.end(), corrupt.ids.begin(), corrupt.ids.end());
  bad_pair(kMisaligned,
           {.what = "the clean and the corrupt prompt do not align: " +
                    std::to_string(clean.size()) + " and " + count_of(corrupt.size(), "token") +
                    ", different from token " + std::to_string(a - clean.ids.begin()) + " on",
            .expected = "the same number of tokens",
            .got = "clean " + shown_tokens(clean) + " and corrupt " + shown_tokens(corrupt),
            .next = "--skip-misaligned leaves such pairs out and counts them"});
}

void check_vocabulary(const std::vector<std::int64_t>& ids, const char* what, std::int64_t size) {
  for (const std::int64_t id : ids) {
    if (size <= 0 || id < size) continue;
    bad_pair("PA06", {.what = std::string(what) + " has an id that this model does not have",
                      .expected = "ids from 0 to " + std::to_string(size - 1),
                      .got = std::to_string(id)});
  }
}

// Position of the only mask token; −1 without one, and with several where no answer has to fill
// one.
int find_mask(const EncodedPrompt& prompt, const Tokenizer* tokenizer, AnswerUse use) {
  const auto mask = tokenizer == nullptr ? std::nullopt : tokenizer->special_ids().mask;
  if (!mask) return -1;
  const auto first = std::find(prompt.ids.begin(), prompt.ids.end(), *mask);
  if (first == prompt.ids.end()) return -1;
  if (std::find(first + 1, prompt.ids.end(), *mask) != prompt.ids.end()) {
    if (use == AnswerUse::unused) return -1;
    bad_pair("PA05", {.what = "the prompt has several mask tokens", .expected = "one"});
  }
  return static_cast<int>(first - prompt.ids.begin());
}

// "source" and the like: columns whose value names words of the prompt. Others are no spans.
void add_column_spans(EncodedPair& pair) {
  for (const Column& column : pair.clean.columns) {
    const char first = column.name.empty() ? '0' : column.name.front();
    const bool is_name = first == '_' || (first >= 'a' && first <= 'z') ||
                         (first >= 'A' && first <= 'Z') || static_cast<unsigned char>(first) > 127;
    const bool is_plain = column.name.find_first_of(",\"") == std::string::npos;
    if (!is_name || !is_plain || column.name == "all" || column.name == "last") continue;
    try {
      pair.spans[column.name] = positions_of(pair.clean, column.name, "column");
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
    }
  }
}

// Names of tokens that count from the first token of the text. False if this text has another
// number of tokens than they were made for.
bool add_named_tokens(const Pair& raw, EncodedPair& pair) {
  if (raw.named_tokens.empty()) return true;
  const EncodedPrompt& clean = pair.clean;
  std::size_t begin = 0;
  std::size_t end = clean.size();
  if (!raw.clean.ids) {
    while (begin < end && clean.special[begin] != 0) ++begin;
    while (end > begin && clean.special[end - 1] != 0) --end;
  }
  const std::size_t count = end - begin;
  if (raw.text_tokens > 0 && static_cast<std::size_t>(raw.text_tokens) != count) return false;
  for (const auto& [name, token] : raw.named_tokens) {
    if (static_cast<std::size_t>(token) >= count) return false;
    pair.spans[name] = {static_cast<int>(begin) + token};
  }
  return true;
}

class PairSetBuilder {
 public:
  PairSetBuilder(const Tokenizer* tokenizer, const PairOptions& options)
      : tokenizer_(tokenizer), options_(options) {}

  bool full() const {
    return options_.limit > 0 && static_cast<std::int64_t>(set_.pairs.size()) >= options_.limit;
  }

  // Runs `next`, which gives a pair or throws; a pair that must be left out is counted. `place`
  // tells where it stood.
  template <typename Next>
  bool add(Next next, const std::function<std::string()>& place) {
    Pair pair;
    try {
      if (!next(pair)) return false;
      add_encoded(encode(pair));
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      if (error.code() == kForeignIds) rethrow_at(error, place());
      if (error.code() == kMisaligned) {
        if (options_.misaligned == Misaligned::stop) rethrow_at(error, place());
        ++set_.misaligned;
        misaligned_.add(place());
        return true;
      }
      if (!options_.skip_bad) rethrow_at(error, place());
      ++set_.bad_lines;
      bad_.add(place() + ": " + error.detail().what);
      return true;
    }
  }

  PairSet take(const std::string& source, Warnings& warnings) {
    if (set_.pairs.empty()) fail_empty(source);
    check_mixed(source);
    number_clusters(set_);
    set_.source = source;
    warn(warnings);
    return std::move(set_);
  }

 private:
  EncodedPair encode(const Pair& raw) {
    EncodedPair pair;
    pair.clean = encode_prompt(raw.clean, tokenizer_, options_.encode);
    pair.line = raw.line;
    pair.group = raw.group;
    pair.label = raw.label;
    check_vocabulary(pair.clean.ids, "the clean prompt", options_.vocabulary);
    if (raw.corrupt && options_.corrupt != CorruptUse::unused) {
      pair.corrupt = encode_prompt(*raw.corrupt, tokenizer_, options_.encode);
      check_vocabulary(pair.corrupt->ids, "the corrupt prompt", options_.vocabulary);
      check_alignment(pair.clean, *pair.corrupt);
    } else if (options_.corrupt == CorruptUse::required) {
      bad_pair("PA02", {.what = "has no corrupt prompt, which this experiment needs"});
    }
    encode_answers(raw, pair);
    add_column_spans(pair);
    if (!add_named_tokens(raw, pair)) unnamed_.add("line " + std::to_string(raw.line));
    return pair;
  }

  void encode_answers(const Pair& raw, EncodedPair& pair) {
    const AnswerUse use = options_.answers;
    if (use == AnswerUse::label && !pair.label) {
      bad_pair("PA02", {.what = "has no label, which this metric needs"});
    }
    if (use == AnswerUse::label) return;
    pair.mask = find_mask(pair.clean, tokenizer_, use);
    if (use == AnswerUse::unused) return;
    pair.answers = answer_ids(raw, raw.answers, raw.answer_ids, pair);
    if (use != AnswerUse::optional && pair.answers.empty()) {
      bad_pair("PA02", {.what = "has no answer, which this metric needs"});
    }
    if (use == AnswerUse::answer) return;
    pair.wrongs = answer_ids(raw, raw.wrongs, raw.wrong_ids, pair);
    if (use == AnswerUse::answer_and_wrong && pair.wrongs.empty()) {
      bad_pair("PA02", {.what = "has no wrong answer, which this metric needs"});
    }
    for (const std::int64_t id : pair.answers) {
      if (std::find(pair.wrongs.begin(), pair.wrongs.end(), id) == pair.wrongs.end()) continue;
      const bool shortened = raw.answers != raw.wrongs && !raw.answers.empty();
      bad_pair("PA05", {.what = shortened ? "an answer and a wrong answer begin with the same token"
                                          : "the answer and the wrong answer are the same",
                        .expected = "different first tokens",
                        .got = shown_token(id)});
    }
  }

  // First tokens, each once.
  std::vector<std::int64_t> answer_ids(const Pair& raw, const std::vector<std::string>& texts,
                                       const std::vector<std::int64_t>& given,
                                       const EncodedPair& pair) {
    std::vector<std::int64_t> ids = given;
    if (!texts.empty() && (raw.clean.ids || tokenizer_ == nullptr)) {
      bad_pair("PA05", {.what = "the prompt is given as ids, so its answers must be too",
                        .expected = "answer_id",
                        .got = quote(texts.front())});
    }
    for (const std::string& text : texts) {
      const EncodedAnswer answer =
          AnswerEncoder(pair.clean, pair.mask, *tokenizer_, options_.encode).encode(text);
      ids.push_back(answer.ids.front());
      if (answer.ids.size() > 1) {
        ++set_.multi_token_answers;
        several_.add(quote(text) + " has " + std::to_string(answer.ids.size()) + ", the first is " +
                     shown_token(answer.ids.front()));
      }
      if (answer.with_space) {
        spaceless_.add(quote(text) + "; " + quote(" " + text) + " would be the token " +
                       std::to_string(*answer.with_space));
      }
    }
    check_vocabulary(ids, "an answer", answer_limit());
    std::vector<std::int64_t> once;
    for (const std::int64_t id : ids) {
      if (std::find(once.begin(), once.end(), id) == once.end()) once.push_back(id);
    }
    return once;
  }

  std::int64_t answer_limit() const {
    if (options_.vocabulary > 0) return options_.vocabulary;
    return tokenizer_ == nullptr ? 0 : tokenizer_->id_limit();
  }

  std::string shown_token(std::int64_t id) const {
    const auto piece = tokenizer_ == nullptr ? std::nullopt : tokenizer_->piece(id);
    return (piece ? quote(*piece) + " " : "token ") + "(" + std::to_string(id) + ")";
  }

  void add_encoded(EncodedPair pair) {
    if (pair.corrupt && pair.corrupt->ids == pair.clean.ids) {
      unchanged_.add("line " + std::to_string(pair.line));
    }
    set_.pairs.push_back(std::move(pair));
  }

  // Some pairs with a corrupt prompt and some without would mix two experiments.
  void check_mixed(const std::string& source) const {
    const auto has = [](const EncodedPair& pair) { return pair.corrupt.has_value(); };
    const auto with = std::count_if(set_.pairs.begin(), set_.pairs.end(), has);
    if (with == 0 || with == static_cast<std::ptrdiff_t>(set_.pairs.size())) return;
    const auto without = std::find_if_not(set_.pairs.begin(), set_.pairs.end(), has);
    bad_pair("PA02", {.where = source,
                      .what = "some pairs have a corrupt prompt and others do not",
                      .expected = "one for each pair, or none at all",
                      .got = "none in line " + std::to_string(without->line)});
  }

  [[noreturn]] void fail_empty(const std::string& source) const {
    std::string what = "the file has no pairs";
    std::string next = "see \"Pairs files\" in `attnscope ablate --help`";
    if (bad_.count > 0) {
      what = "no line of the file can be used; " + bad_.first;
      next = "mend that line; without --skip-bad the run stops at it";
    } else if (misaligned_.count > 0) {
      what = "no pair of the file aligns; the first that does not is " + misaligned_.first;
      next = "give clean and corrupt as many tokens each; `attnscope tokenize` counts them";
    }
    bad_pair("PA03",
             {.where = source, .what = what, .expected = "at least one pair", .next = next});
  }

  void warn(Warnings& warnings) const {
    const auto say = [&](const Doubt& doubt, const std::string& text) {
      if (doubt.count > 0) warnings.add(text);
    };
    say(bad_, count_of(static_cast<std::uint64_t>(bad_.count), "bad line") +
                  " of the pairs file left out; the first is " + bad_.first);
    say(misaligned_, count_of(static_cast<std::uint64_t>(misaligned_.count), "pair") +
                         " left out because clean and corrupt do not align; the first is " +
                         misaligned_.first);
    say(several_,
        count_of(static_cast<std::uint64_t>(several_.count), "answer") +
            " of more than one token, of which only the first is measured: " + several_.first);
    say(spaceless_, count_of(static_cast<std::uint64_t>(spaceless_.count), "answer") +
                        " without a space before it: " + spaceless_.first);
    say(unchanged_, count_of(static_cast<std::uint64_t>(unchanged_.count), "pair") +
                        " whose corrupt prompt is the clean one; the first is " + unchanged_.first);
    say(unnamed_, "word_idxs left out for " +
                      count_of(static_cast<std::uint64_t>(unnamed_.count), "pair") +
                      " with another number of tokens");
    // Who takes answers as they come computes no intervals.
    if (options_.answers != AnswerUse::optional) warn_of_clusters(warnings);
  }

  void warn_of_clusters(Warnings& warnings) const {
    const char* const no_interval = ", so no interval can be computed";
    if (set_.n_groups == 1 && set_.pairs.size() > 1) {
      warnings.add("all " + std::to_string(set_.pairs.size()) + " pairs are of one group" +
                   no_interval);
    }
    if (set_.n_clusters == set_.n_groups) return;
    const bool named = std::any_of(set_.pairs.begin(), set_.pairs.end(),
                                   [](const EncodedPair& pair) { return !pair.group.empty(); });
    const auto copies = static_cast<std::uint64_t>(set_.n_groups - set_.n_clusters);
    const std::string what = count_of(copies, named ? "group" : "pair") +
                             (copies == 1 ? " holds" : " hold") + " exactly ";
    warnings.add(what + (named ? "the same pairs as an earlier one" : "what an earlier one holds") +
                 ", and copies are no further draws: " +
                 count_of(static_cast<std::uint64_t>(set_.n_groups), named ? "group" : "pair") +
                 " count as " + count_of(static_cast<std::uint64_t>(set_.n_clusters), "draw") +
                 (set_.n_clusters == 1 ? no_interval : ""));
  }

  const Tokenizer* tokenizer_;
  const PairOptions& options_;
  PairSet set_;
  Doubt bad_, misaligned_, several_, spaceless_, unchanged_, unnamed_;
};

}  // namespace

PairSet read_pairs(const std::string& path, const Tokenizer* tokenizer, const PairOptions& options,
                   Warnings& warnings) {
  PairReader reader(path, options);
  PairSetBuilder builder(tokenizer, options);
  const auto next = [&](Pair& pair) { return reader.next(pair); };
  while (!builder.full() && builder.add(next, [&] { return reader.place(); })) {
  }
  PairSet set = builder.take(escape_untrusted(path, 4096), warnings);
  set.source = path;
  set.sha256 = sha256_of_file(path, "PA01");
  return set;
}

PairSet encode_pairs(const std::vector<Pair>& pairs, const std::string& source,
                     const Tokenizer* tokenizer, const PairOptions& options, Warnings& warnings) {
  PairSetBuilder builder(tokenizer, options);
  std::size_t done = 0;
  const auto next = [&](Pair& pair) {
    if (done == pairs.size()) return false;
    pair = pairs[done++];
    return true;
  };
  while (!builder.full() && builder.add(next, [&] { return source; })) {
  }
  return builder.take(source, warnings);
}

}  // namespace attnscope
