#include "low_precision.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "recorder.h"

namespace attnscope::testing {

using nlohmann::json;

void LowPrecisionErrors::add(const at::Tensor& got, const at::Tensor& expected) {
  const at::Tensor difference = (got.to(at::kDouble) - expected).abs();
  square_sum += difference.square().sum().item<double>();
  largest = std::max(largest, difference.max().item<double>());
  count += difference.numel();
}

std::map<std::string, LowPrecisionErrors> errors_of(const Model& model, const Oracle& oracle,
                                                    Engine engine) {
  const ModelConfig& config = model.config();
  const Site output =
      config.placement == NormPlacement::post ? Site::normalized_resid_post : Site::resid_post;
  const HookId last{output, config.n_layers - 1};
  LogitsRequest logits;
  if (oracle.has("logit_ids")) logits.columns = oracle.integers("logit_ids");
  std::map<std::string, LowPrecisionErrors> errors;
  for (const char* name : {"seq0", "seq1", "seq2"}) {
    const OracleCase input = oracle.input(name);
    const Outcome run = run_and_record(model, make_batch(input.rows), {last}, {},
                                       {.engine = engine, .logits = logits});
    const std::string prefix = input.name + "/";
    errors["last_hidden"].add(run.values.at(last), oracle.array(prefix + hook_name(last)));
    if (oracle.has(prefix + "logits")) {
      errors["logits"].add(run.output, oracle.array(prefix + "logits"));
    }
  }
  return errors;
}

const json& original_errors(const char* group, const std::string& model, DType dtype) {
  static const json table =
      json::parse(std::ifstream(ATTNSCOPE_SOURCE_DIR "/tests/parity/low_precision.json"));
  return table.at(group).at(model).at(dtype == DType::f16 ? "f16" : "bf16");
}

void expect_at_most_twice(const std::map<std::string, LowPrecisionErrors>& ours,
                          const json& original, Engine engine) {
  for (const auto& [kind, errors] : ours) {
    const json& theirs = original.at(engine == Engine::aten ? "sdpa" : "eager").at(kind);
    std::printf("%-12s rms %.2e, %.2f of theirs; largest %.2e, %.2f of theirs\n", kind.c_str(),
                errors.rms(), errors.rms() / theirs.at("rms").get<double>(), errors.largest,
                errors.largest / theirs.at("max").get<double>());
    EXPECT_GT(errors.rms(), 0) << kind << ": was this run in another type?";
    EXPECT_LE(errors.rms(), 2 * theirs.at("rms").get<double>()) << kind;
    EXPECT_LE(errors.largest, 2 * theirs.at("max").get<double>()) << kind;
  }
}

}  // namespace attnscope::testing
