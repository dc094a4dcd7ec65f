// File: capture_spec.h
// Every option of `capture`, and the parts that other verbs share.
//
// Selectors (hooks, layers, heads, positions) are text as typed: they can only be resolved against
// a model and a prompt. An empty selector means all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/spec/choices.h"

namespace attnscope {

// Where prompts come from: exactly one of `prompt`, `ids` and `prompts_file`.
struct PromptSource {
  std::optional<std::string> prompt;             // --prompt
  std::optional<std::string> pair;               // --prompt-pair: second text of a sentence pair
  std::optional<std::vector<std::int64_t>> ids;  // --ids
  std::vector<std::int64_t> token_types;         // --token-types, with --ids only
  std::string prompts_file;                      // --prompts: .txt, .jsonl, .csv, .tsv
  bool skip_bad = false;                         // --skip-bad: count bad lines, do not stop

  bool operator==(const PromptSource&) const = default;
};

// How text becomes ids.
struct EncodingOptions {
  BosMode bos = BosMode::automatic;               // --bos
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;  // --invalid-utf8
  ChatChoice chat = ChatChoice::none;             // --chat

  bool operator==(const EncodingOptions&) const = default;
};

// What the forward pass runs on.
struct ComputeOptions {
  std::string device = "auto";                    // --device auto|cpu|cuda|cuda:N
  ComputeDType dtype = ComputeDType::f32;         // --dtype
  EngineChoice engine = EngineChoice::automatic;  // --engine
  int threads = 0;                                // --threads; 0 = one a core
  std::uint64_t seed = 0;                         // --seed
  int batch = 0;             // --batch: most prompts in a batch; 0 = by the token budget
  std::uint64_t budget = 0;  // --budget: bytes of memory or of disk; refuses only; 0 = no limit

  bool operator==(const ComputeOptions&) const = default;
};

// Where the result goes and what is said meanwhile.
struct DeliveryOptions {
  std::string out;       // -o/--out
  bool force = false;    // --force: replace an existing file
  bool resume = false;   // --resume: keep the committed shards of an interrupted run
  bool quiet = false;    // --quiet
  bool json = false;     // --json
  bool dry_run = false;  // --dry-run: print the plan and stop

  bool operator==(const DeliveryOptions&) const = default;
};

// --shard i/N: this process does part i (1 … N) of the prompts.
struct ShardChoice {
  int index = 1;
  int count = 1;
  bool operator==(const ShardChoice&) const = default;
};

struct CaptureSpec {
  std::string model;  // -m/--model
  PromptSource prompts;
  EncodingOptions encoding;
  // --hooks; empty = pattern where each prompt has its own group, statistics alone where packed
  std::string hooks;
  std::string layers;                     // --layers "0-3,7"
  std::string heads;                      // --heads "5.1,6.*"
  std::string positions;                  // --positions "3,5-7,-1,last,\"Mary\""
  bool stats_only = false;                // --stats-only: statistics, no maps and no other sites
  MapFormat map_format = MapFormat::r10;  // --map-dtype
  int top_k = 8;                          // --topk
  LayoutChoice layout = LayoutChoice::automatic;  // --layout
  bool beyond_context = false;                    // --beyond-context
  bool strict = false;                            // --strict
  bool fail_on_nan = false;                       // --fail-on-nan
  ComputeOptions compute;
  ShardChoice shard;  // --shard
  DeliveryOptions output;

  bool operator==(const CaptureSpec&) const = default;
};

// Throws Error SP03 (exit 2) that names the option: missing model or prompt, contradictory prompt
// sources, values out of range, selectors that cannot be valid for any model.
void validate(const CaptureSpec& spec);
void validate(const PromptSource& prompts);

// "3/8". Throws Error SP02 that names --shard.
ShardChoice parse_shard(std::string_view text);
// "500", "300M", "1.5GiB" as bytes; binary units. Throws Error SP02 that names `option`.
std::uint64_t parse_bytes(std::string_view text, std::string_view option);
// "5,17,3" as integers ≥ 0. Throws Error SP02 that names `option`.
std::vector<std::int64_t> parse_id_list(std::string_view text, std::string_view option);

}  // namespace attnscope
