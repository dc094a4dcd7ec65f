// File: shared_options.h
// Options that several verbs have, under the same names everywhere.
#pragma once

#include "attnscope/spec/capture_spec.h"
#include "command.h"

namespace attnscope::cli {

// `why` says whether the verb needs it: "required".
void add_model_option(Options& options, const std::string& why, std::string& model);
// --prompt, --prompt-pair, --ids, --token-types, --prompts, --skip-bad, and what prompt files hold.
void add_prompt_options(Verb& verb, PromptSource& prompts);
// --bos, --chat, --invalid-utf8.
void add_encoding_options(Options& options, EncodingOptions& encoding);
void add_device_option(Options& options, std::string& device);
void add_threads_option(Options& options, int& threads);
// --device, --dtype, --engine, --threads, --seed, --budget.
void add_compute_options(Options& options, ComputeOptions& compute);
// --strict and --fail-on-nan.
void add_rule_options(Options& options, bool& strict, bool& fail_on_nan);
// --positions and the like, as sites/selectors.h reads them.
void add_positions_note(Verb& verb, const std::string& file);
// --force, --resume, --dry-run, --json, --quiet.
void add_long_run_options(Options& options, DeliveryOptions& output);
// `what` is shared out, e.g. "prompts".
void add_shard_option(Options& options, const std::string& what, ShardChoice& shard);
// -o/--out of a result file and --force.
void add_result_option(Options& options, const std::string& help, std::string& out);
void add_force_option(Options& options, bool& force);
void add_json_option(Options& options, bool& json);

}  // namespace attnscope::cli
