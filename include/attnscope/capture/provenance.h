// File: provenance.h
// What a result says about where it came from: in the file what decides its bytes, in OUT.json the
// rest. For every verb that runs a model.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/data/encoded_prompt.h"
#include "attnscope/spec/capture_spec.h"
#include "attnscope/storage/schema.h"

namespace attnscope {

struct InputHashes {
  std::string config;     // of config.json
  std::string weights;    // of the weight file; of several, of the list "HASH  NAME\n" by name
  std::string tokenizer;  // of tokenizer.json; empty without one
  std::string prompts;    // of the file of prompts or pairs; empty without one
  std::vector<std::pair<std::string, std::string>> files;  // path, hash

  // Those that a run's identity is made of.
  std::vector<std::string> all() const { return {config, weights, tokenizer, prompts}; }
};

InputHashes hash_inputs(const Checkpoint& checkpoint, const std::string& prompts_sha256);

FileInfo file_info(FileKind kind, const std::string& run_id);
ModelInfo model_info(const Checkpoint& checkpoint, const InputHashes& hashes);
// `compute` with every "auto" replaced by what it became.
RunInfo run_info(const ComputeOptions& compute, const std::string& options_json);
// What must be equal for a run to be resumed, as one JSON object.
std::string resume_json(const std::string& options_json, const InputHashes& hashes,
                        const ShardChoice& shard);

// A prompt's tokens as a file holds them; columns `group` and `label` have places of their own.
PromptRecord prompt_record(const EncodedPrompt& prompt);

// Prompts longer than the context of a model with computed positions.
enum class LongPrompts {
  refused,
  refused_unless_asked,  // the message names --beyond-context
  allowed,
};
// Throws Error CA10 (exit 2) when the model cannot take the prompt: an id outside the vocabulary, a
// token type that does not exist, more tokens than the context. `where` names the prompt.
void check_prompt(const ModelConfig& config, const EncodedPrompt& prompt, LongPrompts longer,
                  const std::string& where);

// Throws Error (exit 3) when OUT.h5 or OUT.json would take the place of a file that is read: the
// model's, or one of `others`.
void check_inputs_are_kept(const std::string& out, const std::string& model,
                           const Checkpoint& checkpoint, const std::vector<std::string>& others);

struct RunTimes {
  std::string started;  // UTC, "2026-01-31T12:00:00Z"
  std::string finished;
};
std::string utc_now();

// OUT.json of any verb.
struct Sidecar {
  FileKind kind = FileKind::capture;
  std::string sha256;  // of OUT.h5
  std::uint64_t file_bytes = 0;
  std::string options_json;
  std::vector<std::string> command_line;
  RunTimes times;
  double seconds = 0;
  std::string model;       // as given
  std::string input_key;   // "prompts_file", "pairs_file"
  std::string input_path;  // empty without such a file
  InputHashes hashes;
  std::vector<std::string> warnings;
  std::string more_json = "{}";  // further keys of this verb, as one object
};
std::string sidecar_json(const Sidecar& sidecar);

}  // namespace attnscope
