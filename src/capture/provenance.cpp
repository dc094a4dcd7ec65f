#include "provenance.h"

#include <sys/utsname.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "attnscope/spec/spec_json.h"
#include "attnscope/storage/h5.h"
#include "attnscope/storage/output.h"
#include "attnscope/support/build_info.h"
#include "attnscope/support/sha256.h"
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

CaptureSpec resolve(const CaptureSpec& spec, const CapturePlan& plan, const std::string& device,
                    int threads) {
  CaptureSpec resolved = spec;
  resolved.compute.device = device;
  resolved.compute.threads = threads;
  // Statistics of every layer are wanted, and the fused path gives none.
  if (spec.compute.engine == EngineChoice::automatic) {
    resolved.compute.engine = EngineChoice::reference;
  }
  const bool packed = plan.layout == FileLayout::packed;
  resolved.layout = packed ? LayoutChoice::packed : LayoutChoice::prompts;
  if (spec.hooks.empty() && !plan.hooks.empty()) resolved.hooks = "pattern";
  return resolved;
}

std::string run_id(const CaptureSpec& resolved, const InputHashes& hashes) {
  return config_hash(resolved, {hashes.config, hashes.weights, hashes.tokenizer, hashes.prompts});
}

FileInfo file_info(const std::string& run_id) {
  FileInfo info;
  info.kind = FileKind::capture;
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

RunInfo run_info(const CaptureSpec& resolved) {
  RunInfo info;
  info.device = resolved.compute.device;
  info.dtype = choice_name(resolved.compute.dtype);
  info.engine = choice_name(resolved.compute.engine);
  info.threads = resolved.compute.threads;
  info.seed = static_cast<std::int64_t>(resolved.compute.seed);
  info.libraries = libraries();
  info.options_json = resolved_options_json(resolved);
  return info;
}

std::string resume_json(const CaptureSpec& resolved, const InputHashes& hashes) {
  json document = json::parse(resolved_options_json(resolved));
  document["model_config_sha256"] = hashes.config;
  document["model_weights_sha256"] = hashes.weights;
  document["tokenizer_sha256"] = hashes.tokenizer;
  document["prompts_sha256"] = hashes.prompts;
  document["shard"] =
      std::to_string(resolved.shard.index) + "/" + std::to_string(resolved.shard.count);
  document["tool_version"] = build_info().version;
  document["git_commit"] = build_info().git_commit;
  for (const auto& [name, version] : libraries()) document["lib_" + name] = version;
  return document.dump();
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), n};
}

std::string sidecar_json(const CaptureSpec& resolved, const CaptureResult& result,
                         const InputHashes& hashes, const CaptureContext& context,
                         const std::vector<SkippedLine>& skipped, const RunTimes& times) {
  json document;
  document[kSidecarHashKey] = result.sha256;
  document["file_bytes"] = result.file_bytes;
  document["kind"] = "capture";
  document["tool_version"] = build_info().version;
  document["git_commit"] = build_info().git_commit;
  document["compiler"] = build_info().compiler;
  document["build_type"] = build_info().build_type;
  document["libraries"] = libraries();
  document["command_line"] = json::array();
  for (const std::string& word : context.command_line) {
    document["command_line"].push_back(shown(word));
  }
  document["host"] = shown(host_name());
  document["started"] = times.started;
  document["finished"] = times.finished;
  document["seconds"] = result.seconds;
  document["options"] = json::parse(resolved_options_json(resolved));
  document["model"] = shown(resolved.model);
  if (!resolved.prompts.prompts_file.empty()) {
    document["prompts_file"] = {{"path", shown(resolved.prompts.prompts_file)},
                                {"sha256", hashes.prompts}};
  }
  document["model_files"] = json::array();
  for (const auto& [path, hash] : hashes.files) {
    document["model_files"].push_back({{"path", shown(path)}, {"sha256", hash}});
  }
  document["prompts"] = result.plan.part.count;
  document["tokens"] = result.plan.tokens;
  document["shards"] = result.plan.shards.size();
  document["shards_kept"] = result.shards_kept;
  document["non_finite"] = result.non_finite;
  document["skipped_lines"] = json::array();
  for (const SkippedLine& line : skipped) {
    document["skipped_lines"].push_back({{"line", line.line}, {"reason", line.reason}});
  }
  document["warnings"] = result.warnings;
  return document.dump(2) + "\n";
}

}  // namespace attnscope
