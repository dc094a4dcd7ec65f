#include "header.h"

#include <array>

#include "table.h"

namespace attnscope::storage_detail {
namespace {

void write_model(h5::Group& root, const ModelInfo& model) {
  h5::Group group = root.create_group("model");
  group.set_text("name", model.name);
  group.set_text("family", model.family);
  for (const auto& [name, size] : model.sizes) group.set_integer(name, size);
  group.set_text("weight_processing", "raw");
  group.set_text("config_sha256", model.config_sha256);
  group.set_text("weights_sha256", model.weights_sha256);
  group.set_text("tokenizer_sha256", model.tokenizer_sha256);
  put_text(group, "config_json", model.config_json, "model");
}

void write_run(h5::Group& root, const RunInfo& run) {
  h5::Group group = root.create_group("run");
  group.set_text("device", run.device);
  group.set_text("dtype", run.dtype);
  group.set_text("engine", run.engine);
  if (!run.engine_reason.empty()) group.set_text("engine_reason", run.engine_reason);
  group.set_integer("threads", run.threads);
  group.set_integer("seed", run.seed);
  for (const auto& [library, version] : run.libraries) group.set_text("lib_" + library, version);
  put_text(group, "options_json", run.options_json, "run");
}

}  // namespace

void write_header(h5::Group& root, const FileInfo& file, const ModelInfo& model,
                  const RunInfo& run) {
  root.set_text("schema", kSchemaName);
  root.set_integers("schema_version", kSchemaVersion);
  root.set_text("kind", file_kind_name(file.kind));
  root.set_text("run_id", file.run_id);
  root.set_text("tool_version", file.tool_version);
  root.set_text("git_commit", file.git_commit);
  if (file.shard) {
    root.set_integers("shard", std::array<std::int64_t, 2>{file.shard->index, file.shard->count});
  }
  write_model(root, model);
  write_run(root, run);
}

}  // namespace attnscope::storage_detail
