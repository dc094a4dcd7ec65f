// bfloat16 and float16 runs: the error against the float64 oracle is at most twice that of Hugging
// Face's own run in that type (low_precision.json, written by make_low_precision.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "attnscope/core/tensor_convert.h"
#include "family_comparison.h"
#include "low_precision.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;

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
