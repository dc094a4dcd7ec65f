#include "attnscope/capture/provenance.h"

#include <sys/utsname.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/output.h"
#include "attnscope/support/build_info.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kCode = "CA31";

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// JSON holds UTF-8 only.
std::string shown(const std::string& bytes) {
  return first_invalid_utf8(bytes) ? escape_untrusted(bytes, 4096) : bytes;
}

std::string host_name() {
  struct utsname name {};
  return ::uname(&name) == 0 ? std::string(static_cast<const char*>(name.nodename)) : "";
}

std::map<std::string, std::string> libraries() {
  return {{"libtorch", TORCH_VERSION}, {"hdf5", h5::library_version()}};
}

}  // namespace

InputHashes hash_inputs(const Checkpoint& checkpoint, const std::string& prompts_sha256) {
  InputHashes hashes;
  const auto hash = [&](const std::string& path) {
    std::string value = sha256_of_file(path, kCode);
    hashes.files.emplace_back(path, value);
    return value;
  };
  const ModelConfig& config = checkpoint.config;
  hashes.config =
      config.config_path.empty() ? sha256_of(config.config_json) : hash(config.config_path);
  std::vector<std::string> weights = checkpoint.weight_files;
  std::sort(weights.begin(), weights.end());
  std::string list;
  std::string last;
  for (const std::string& path : weights) {
    last = hash(path);
    list += last + "  " + base_name(path) + "\n";
  }
  if (!weights.empty()) hashes.weights = weights.size() == 1 ? last : sha256_of(list);
  if (!checkpoint.tokenizer_json.empty()) hashes.tokenizer = hash(checkpoint.tokenizer_json);
  hashes.prompts = prompts_sha256;
  return hashes;
}

FileInfo file_info(FileKind kind, const std::string& run_id) {
  FileInfo info;
  info.kind = kind;
  info.run_id = run_id;
  info.tool_version = build_info().version;
  info.git_commit = build_info().git_commit;
  return info;
}

ModelInfo model_info(const Checkpoint& checkpoint, const InputHashes& hashes) {
  const ModelConfig& config = checkpoint.config;
  ModelInfo info;
  info.name = shown(config.name);
  info.family = config.family;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t d_head = 0;
  std::int64_t d_mlp = 0;
  for (const LayerConfig& layer : config.layers) {
    heads = std::max<std::int64_t>(heads, layer.attention.n_heads);
    kv_heads = std::max<std::int64_t>(kv_heads, layer.attention.n_kv_heads);
    d_head = std::max<std::int64_t>(d_head, layer.attention.d_head);
    d_mlp = std::max<std::int64_t>(d_mlp, layer.d_mlp);
  }
  info.sizes = {{"n_layers", config.n_layers},
                {"n_heads", heads},
                {"n_kv_heads", kv_heads},
                {"d_head", d_head},
                {"d_mlp", d_mlp},
                {"d_model", config.d_model},
                {"d_vocab", config.d_vocab},
                {"n_context", config.n_context}};
  info.config_sha256 = hashes.config;
  info.weights_sha256 = hashes.weights;
  info.tokenizer_sha256 = hashes.tokenizer;
  info.config_json = config.config_json;
  return info;
}

RunInfo run_info(const ComputeOptions& compute, const std::string& options_json) {
  RunInfo info;
  info.device = compute.device;
  info.dtype = choice_name(compute.dtype);
  info.engine = choice_name(compute.engine);
  info.threads = compute.threads;
  info.seed = static_cast<std::int64_t>(compute.seed);
  info.libraries = libraries();
  info.options_json = options_json;
  return info;
}

std::string resume_json(const std::string& options_json, const InputHashes& hashes,
                        const ShardChoice& shard) {
  json document = json::parse(options_json);
  document["model_config_sha256"] = hashes.config;
  document["model_weights_sha256"] = hashes.weights;
  document["tokenizer_sha256"] = hashes.tokenizer;
  document["prompts_sha256"] = hashes.prompts;
  document["shard"] = std::to_string(shard.index) + "/" + std::to_string(shard.count);
  document["tool_version"] = build_info().version;
  document["git_commit"] = build_info().git_commit;
  for (const auto& [name, version] : libraries()) document["lib_" + name] = version;
  return document.dump();
}

PromptRecord prompt_record(const EncodedPrompt& prompt) {
  PromptRecord record;
  record.text = prompt.text;
  for (const Column& column : prompt.columns) {
    if (column.name == "group") {
      record.group = column.value;
    } else if (column.name == "label") {
      record.label = column.value;
    } else {
      record.columns.emplace_back(column.name, column.value);
    }
  }
  if (prompt.pair) record.columns.emplace_back("pair", *prompt.pair);
  TokenTable& tokens = record.tokens;
  tokens.ids = prompt.ids;
  tokens.text = prompt.token_texts;
  tokens.bytes = prompt.token_bytes;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const bool placed = prompt.special[i] == 0;
    const CharSpan span = prompt.offsets[i];
    tokens.char_offsets.push_back(
        placed ? std::array<std::int32_t, 2>{static_cast<std::int32_t>(span.begin),
                                             static_cast<std::int32_t>(span.end)}
               : std::array<std::int32_t, 2>{-1, -1});
    tokens.position_ids.push_back(static_cast<std::int32_t>(i));
    tokens.token_type_ids.push_back(static_cast<std::int32_t>(prompt.token_types[i]));
    tokens.step.push_back(0);
  }
  return record;
}

void check_prompt(const ModelConfig& config, const EncodedPrompt& prompt, LongPrompts longer,
                  const std::string& where) {
  const auto fail = [&](std::string what, std::string expected, std::string got,
                        std::string next = "") {
    throw Error(ErrorKind::input, "CA10",
                {.where = where,
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = std::move(got),
                 .next = std::move(next)});
  };
  for (std::size_t i = 0; i < prompt.ids.size(); ++i) {
    const std::int64_t id = prompt.ids[i];
    if (id < 0 || id >= config.d_vocab) {
      fail("token " + std::to_string(i) + " is outside the vocabulary of the model",
           "ids from 0 to " + std::to_string(config.d_vocab - 1), std::to_string(id));
    }
    const std::int64_t type = prompt.token_types[i];
    if (type != 0 && config.token_types <= 1) {
      fail("the model does not tell the two texts of a pair apart: it has no token types",
           "one text, or token types of 0", "token type " + std::to_string(type));
    }
    if (type != 0 && (type < 0 || type >= config.token_types)) {
      fail("token type of token " + std::to_string(i) + " does not exist in the model",
           "0 to " + std::to_string(std::max(0, config.token_types - 1)), std::to_string(type));
    }
  }
  const auto length = static_cast<std::int64_t>(prompt.ids.size());
  if (length <= config.n_context) return;
  const bool extendable = config.position != PositionKind::learned;
  if (extendable && longer == LongPrompts::allowed) return;
  const bool askable = extendable && longer == LongPrompts::refused_unless_asked;
  fail("the prompt is longer than the context of the model",
       "at most " + count_of(static_cast<std::uint64_t>(config.n_context), "token"),
       std::to_string(length),
       askable      ? "shorten it, or allow it with --beyond-context"
       : extendable ? "shorten it"
                    : "shorten it: this model has learned positions and no more of them");
}

void check_inputs_are_kept(const std::string& out, const std::string& model,
                           const Checkpoint& checkpoint, const std::vector<std::string>& others) {
  std::vector<std::string> inputs = checkpoint.weight_files;
  inputs.insert(inputs.end(), {model, checkpoint.config.config_path, checkpoint.tokenizer_json,
                               checkpoint.tokenizer_config});
  inputs.insert(inputs.end(), others.begin(), others.end());
  check_output_is_no_input(out, inputs);
  check_output_is_no_input(sidecar_path(out), inputs);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), n};
}

std::string sidecar_json(const Sidecar& sidecar) {
  json document = json::parse(sidecar.more_json);
  document[kSidecarHashKey] = sidecar.sha256;
  document["file_bytes"] = sidecar.file_bytes;
  document["kind"] = file_kind_name(sidecar.kind);
  document["tool_version"] = build_info().version;
  document["git_commit"] = build_info().git_commit;
  document["compiler"] = build_info().compiler;
  document["build_type"] = build_info().build_type;
  document["libraries"] = libraries();
  document["command_line"] = json::array();
  for (const std::string& word : sidecar.command_line) {
    document["command_line"].push_back(shown(word));
  }
  document["host"] = shown(host_name());
  document["started"] = sidecar.times.started;
  document["finished"] = sidecar.times.finished;
  document["seconds"] = sidecar.seconds;
  document["options"] = json::parse(sidecar.options_json);
  document["model"] = shown(sidecar.model);
  if (!sidecar.input_path.empty()) {
    document[sidecar.input_key] = {{"path", shown(sidecar.input_path)},
                                   {"sha256", sidecar.hashes.prompts}};
  }
  document["model_files"] = json::array();
  for (const auto& [path, hash] : sidecar.hashes.files) {
    document["model_files"].push_back({{"path", shown(path)}, {"sha256", hash}});
  }
  document["warnings"] = sidecar.warnings;
  return document.dump(2) + "\n";
}

}  // namespace attnscope
