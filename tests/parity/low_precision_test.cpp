// bfloat16 and float16 runs: the error against the float64 oracle is at most twice that of Hugging
// Face's own run in that type (low_precision.json, written by make_low_precision.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attnscope/core/tensor_convert.h"
#include "family_comparison.h"
#include "recorder.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;

struct Errors {
  double square_sum = 0;
  double largest = 0;
  std::int64_t count = 0;

  void add(const at::Tensor& got, const at::Tensor& expected) {
    const at::Tensor difference = (got.to(at::kDouble) - expected).abs();
    square_sum += difference.square().sum().item<double>();
    largest = std::max(largest, difference.max().item<double>());
    count += difference.numel();
  }
  double rms() const { return std::sqrt(square_sum / static_cast<double>(count)); }
};

// By "last_hidden" and "logits", over the three unpadded sequences as in the table.
std::map<std::string, Errors> errors_of(const Model& model, const Oracle& oracle, Engine engine) {
  const ModelConfig& config = model.config();
  const Site output =
      config.placement == NormPlacement::post ? Site::normalized_resid_post : Site::resid_post;
  const HookId last{output, config.n_layers - 1};
  LogitsRequest logits;
  if (oracle.has("logit_ids")) logits.columns = oracle.integers("logit_ids");
  std::map<std::string, Errors> errors;
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

// `original` is one model and type of the table; the engine that is like eager attention is held to
// eager attention, as are tiles; LibTorch's fused one to fused.
void expect_at_most_twice(const std::map<std::string, Errors>& ours, const json& original,
                          Engine engine) {
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

struct Case {
  std::string family;
  DType dtype;
  Engine engine;
};

// LibTorch has had every operation of a forward pass on the CPU in both types since 2.11; an older
// or smaller build may not.
bool lacks_products(DType dtype) {
  try {
    const at::Tensor one = at::ones({2, 2}, at::kFloat).to(scalar_type(dtype));
    at::softmax(at::matmul(one, one), -1);
    return false;
  } catch (const c10::Error&) {
    return true;
  }
}

class LowPrecision : public ::testing::TestWithParam<Case> {};

TEST_P(LowPrecision, ErrsAtMostTwiceAsMuchAsTheOriginal) {
  const auto& [family, dtype, engine] = GetParam();
  if (lacks_products(dtype))
    GTEST_SKIP() << "this LibTorch has no products of " << dtype_name(dtype);
  const json& original = original_errors("families", family, dtype);
  if (engine == Engine::aten && !original.contains("sdpa")) {
    GTEST_SKIP() << family << " cannot be run with fused attention";
  }
  const FamilyModel loaded = load_family(family, dtype);
  const Oracle oracle(family_folder(family) + "/oracle.npz");
  expect_at_most_twice(errors_of(loaded.model, oracle, engine), original, engine);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& family : families()) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      for (const Engine engine : {Engine::reference, Engine::aten, Engine::cpu_tiled}) {
        all.push_back({family, dtype, engine});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Families, LowPrecision, ::testing::ValuesIn(cases()),
                         [](const auto& test) {
                           return test.param.family + "_" + dtype_name(test.param.dtype) + "_" +
                                  engine_name(test.param.engine);
                         });

// A real model's activations are far from those of random weights: some reach thousands.
TEST(RealModelPrecision, ErrsInLowPrecisionAtMostTwiceAsMuchAsTheOriginal) {
  const char* models = std::getenv("ATTNSCOPE_MODELS");
  for (const std::string name : {"minilm", "smollm2"}) {
    const auto reference = material("models/" + name);
    if (models == nullptr || !reference) {
      GTEST_SKIP() << "ATTNSCOPE_MODELS or ATTNSCOPE_MATERIAL is not set";
    }
    const Oracle oracle(*reference + "/oracle.npz");
    for (const DType dtype : {DType::bf16, DType::f16}) {
      if (lacks_products(dtype)) continue;
      const FamilyModel loaded = load_model(std::string(models) + "/" + name, dtype);
      for (const Engine engine : {Engine::reference, Engine::aten, Engine::cpu_tiled}) {
        SCOPED_TRACE(name + " " + dtype_name(dtype) + " " + engine_name(engine));
        expect_at_most_twice(errors_of(loaded.model, oracle, engine),
                             original_errors("real_models", name, dtype), engine);
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
