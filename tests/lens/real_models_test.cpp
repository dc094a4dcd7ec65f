// Attribution and lens of a model of real size, against the logits of its reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attnscope/probes/attribution.h"
#include "logit_lens.h"
#include "parity/family_comparison.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

TEST(RealModel, AttributionOfAnIndirectObject) {
  const char* models = std::getenv("ATTNSCOPE_MODELS");
  const auto reference = material("models/smollm2/reference.json");
  if (models == nullptr || !reference) {
    GTEST_SKIP() << "ATTNSCOPE_MODELS or ATTNSCOPE_MATERIAL is not set";
  }
  const std::string folder = std::string(models) + "/smollm2";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " does not exist";
  const Model model = load_model(folder, DType::f32).model;
  std::ifstream file(*reference);
  for (const nlohmann::json& text : nlohmann::json::parse(file)["ioi"]) {
    const TokenRow row = {.ids = text["ids"]};
    const LogitDirection direction = {.columns = {text["id_Mary"], text["id_John"]},
                                      .weights = {1, -1}};
    const Attribution parts =
        attribute_logits(model, {.row = row, .positions = {-1}, .directions = {direction}});
    const double expected = text["difference"];
    const double sum = (parts.embedding + parts.position + parts.heads.sum({0, 1}) +
                        parts.attention_bias.sum(0) + parts.mlp.sum(0) + parts.constant)[0]
                           .item<double>();
    const double total = parts.total[0].item<double>();
    RecordProperty("completeness", std::to_string(std::abs(sum - total)));
    EXPECT_NEAR(total, expected, 1e-3);
    EXPECT_NEAR(sum, total, 1e-4);
    EXPECT_LE((parts.sources.sum(-1) - parts.heads).abs().max().item<double>(), 1e-5);
    const LogitLens lens = logit_lens(model, row, {.targets = {text["id_Mary"]}});
    EXPECT_EQ(lens.kl[-1].abs().max().item<double>(), 0);
    EXPECT_GT(lens.kl[0][-1].item<double>(), lens.kl[-2][-1].item<double>());
  }
}

}  // namespace
}  // namespace attnscope::testing
