#include "console/experiment_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "console/small_result.h"

namespace attnscope {
namespace {

using nlohmann::json;

json printed(const ExperimentResult& result) {
  return json::parse(console::experiment_json(result));
}

TEST(ExperimentJson, ACellHasItsEffectIntervalPAndN) {
  const json out = printed(testing::small_result());
  ASSERT_EQ(out["cells"].size(), 6U);
  const json& cell = out["cells"][1];
  EXPECT_EQ(cell["unit"], "0.1");
  EXPECT_EQ(cell["method"], "zero");
  EXPECT_EQ(cell["effect"], 2.0);
  EXPECT_EQ(cell["ci"], (json{1.5, 2.5}));
  EXPECT_EQ(cell["p"], 0.001);
  EXPECT_EQ(cell["n"], 40);
  EXPECT_EQ(cell["p_adjusted"], 0.003);
  EXPECT_EQ(cell["undefined"], 0);
  EXPECT_EQ(cell["groups"], 12);
  EXPECT_EQ(cell["interval_kind"], "regular");
  EXPECT_EQ(out["cells"][4]["interval_kind"], "few groups");
  EXPECT_EQ(out["cells"][4]["effect"], 3.0);
  EXPECT_EQ(out["cells"][4]["method"], "mean");
}

TEST(ExperimentJson, WhatIsMissingIsNull) {
  const json out = printed(testing::small_result());
  const json& cell = out["cells"][5];
  for (const char* key : {"effect", "ci", "p", "p_adjusted", "ci_simultaneous"}) {
    ASSERT_TRUE(cell.contains(key)) << key;
    EXPECT_TRUE(cell[key].is_null()) << key;
  }
  EXPECT_EQ(cell["n"], 39);
  EXPECT_EQ(cell["interval_kind"], "missing values");
  EXPECT_EQ(out["spread"]["values"], (json{0.5, nullptr}));
  EXPECT_TRUE(out["path"].is_null());
}

TEST(ExperimentJson, TheRunIsDescribed) {
  const json out = printed(testing::small_result());
  EXPECT_EQ(out["baseline"], 3.0);  // (1 + 2 + 6) / 3
  EXPECT_EQ(out["noise_floor"], 2.5e-7);
  EXPECT_EQ(out["verify"], (json{{"cells", 3}, {"max_difference", 1e-6}}));
  EXPECT_EQ(out["attributes"]["effect_kind"], "total");
  EXPECT_EQ(out["prompts"], 40);
  EXPECT_EQ(out["clusters"], 12);
  EXPECT_EQ(out["plan"], "3 cells\n");
  EXPECT_EQ(out["warnings"], json{"one doubt"});
  EXPECT_EQ(out["spread"]["axes"], json{"side"});
  EXPECT_FALSE(out.contains("per_prompt"));
}

TEST(ExperimentJson, SeveralGridsOfAPatchingAreAList) {
  ExperimentResult result = testing::small_patch();
  result.record.name = "patch_layer_pos";
  result.further_records = {testing::small_patch().record};
  result.further_records[0].name = "patch_layer_head";
  const json out = printed(result);
  ASSERT_EQ(out["experiments"].size(), 2U);
  const json one = printed(testing::small_patch());
  for (const json& grid : out["experiments"]) {
    EXPECT_EQ(grid["cells"], one["cells"]);
    EXPECT_EQ(grid["metric"], "logit-diff");
  }
  EXPECT_EQ(out["experiments"][0]["experiment"], "patch_layer_pos");
  EXPECT_EQ(out["experiments"][1]["experiment"], "patch_layer_head");
  EXPECT_EQ(out["prompts"], 40);
  EXPECT_FALSE(out.contains("cells"));
  EXPECT_FALSE(one.contains("experiments"));
}

TEST(ExperimentJson, WhatIsAddedToAResultStandsBehindIt) {
  ExperimentResult result = testing::small_result();
  result.further_records = {testing::small_result().record};
  result.further_records[0].name = "interactions";
  const json out = printed(result);
  EXPECT_EQ(out["experiment"], "ablate");
  EXPECT_EQ(out["cells"].size(), 6U);
  ASSERT_EQ(out["further"].size(), 1U);
  EXPECT_EQ(out["further"][0]["experiment"], "interactions");
  EXPECT_EQ(out["further"][0]["cells"], out["cells"]);
}

TEST(ExperimentJson, ADryRunHasThePlanAlone) {
  ExperimentResult result = testing::small_result();
  result.record = {};
  const json out = printed(result);
  EXPECT_FALSE(out.contains("cells"));
  EXPECT_EQ(out["plan"], "3 cells\n");
}

TEST(ExperimentJson, FurtherNumbersOfACellAreKept) {
  const json out = printed(testing::small_patch());
  EXPECT_EQ(out["cells"][5]["recovery"], 0.75);
  EXPECT_TRUE(out["cells"][5]["n"].is_null());
  EXPECT_FALSE(out["cells"][5].contains("positions"));
}

TEST(ExperimentJson, VerdictsAreNamed) {
  ExperimentResult result = testing::small_result();
  result.record.integers.push_back({"verdict", {"cell"}, {3}, {1, 0, -2}});
  const json out = printed(result);
  EXPECT_EQ(out["cells"][0]["verdict"], "causal");
  EXPECT_EQ(out["cells"][1]["verdict"], "no effect");
  EXPECT_EQ(out["cells"][5]["verdict"], "undetermined (backed up)");
}

TEST(ExperimentJson, TextThatIsNoUtf8IsEscaped) {
  ExperimentResult result = testing::small_result();
  result.path = "out\xFF.h5";
  EXPECT_EQ(printed(result)["path"], "out\\xFF.h5");
}

}  // namespace
}  // namespace attnscope
