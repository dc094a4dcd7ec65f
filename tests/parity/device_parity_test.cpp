// The runtime on a GPU: every family against its oracle, statistics against those of a float64 run
// on the CPU, and the same bits when run again. Skipped where there is no GPU;
// ATTNSCOPE_TEST_DEVICE names another device (cuda:1, or cpu to see that the tests hold there).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "attnscope/core/device.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "family_comparison.h"
#include "low_precision.h"
#include "property_models.h"
#include "recorder.h"

namespace attnscope::testing {
namespace {

// Statistics of a float32 run, as parts of max(1, |x|): the error of the maps, and that of float32
// sums over the keys of a row or the rows of a key.
constexpr double kStatisticsTolerance = 5e-5;

std::string device_name() {
  const char* name = std::getenv("ATTNSCOPE_TEST_DEVICE");
  return name == nullptr ? "cuda" : name;
}

class OnDevice : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      device_ = parse_device(device_name());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  c10::Device device() const { return *device_; }

 private:
  std::optional<c10::Device> device_;
};

using DeviceParity = OnDevice;

void expect_oracle(const std::string& family, const FamilyComparison& comparison) {
  EXPECT_EQ(lines(comparison.failures), "") << family;
  const std::vector<std::string> engines(comparison.engines.begin(), comparison.engines.end());
  std::printf("%s: %d arrays, engines %s", family.c_str(), comparison.n_arrays,
              join(engines, ", ").c_str());
  for (const auto& [kind, largest] : comparison.largest) {
    std::printf(", %s %.1e", kind.c_str(), largest);
  }
  std::printf("\n");
}

TEST_P(DeviceParity, Float32Reference) {
  const FamilyComparison comparison =
      compare_with_oracle(GetParam(), DType::f32, Engine::reference, device());
  expect_oracle(GetParam(), comparison);
  EXPECT_GE(comparison.n_arrays, committed_arrays(GetParam()));
}

TEST_P(DeviceParity, Float32AutomaticEngine) {
  const FamilyComparison comparison =
      compare_with_oracle(GetParam(), DType::f32, Engine::automatic, device());
  expect_oracle(GetParam(), comparison);
  EXPECT_GE(comparison.n_arrays, committed_arrays(GetParam()));
}

// A soft-cap cannot be fused; see FamilyParity.FusedEngine.
TEST_P(DeviceParity, Float32FusedEngine) {
  if (GetParam() == "gemma2") return;
  expect_oracle(GetParam(), compare_with_oracle(GetParam(), DType::f32, Engine::aten, device()));
}

TEST_P(DeviceParity, Float64Reference) {
  expect_oracle(GetParam(),
                compare_with_oracle(GetParam(), DType::f64, Engine::reference, device()));
}

TEST_P(DeviceParity, LowPrecisionErrsAtMostTwiceAsMuchAsTheOriginal) {
  const Oracle oracle(family_folder(GetParam()) + "/oracle.npz");
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const nlohmann::json& original = original_errors("families", GetParam(), dtype);
    const FamilyModel loaded = load_family(GetParam(), dtype, device());
    for (const Engine engine : {Engine::reference, Engine::aten}) {
      if (engine == Engine::aten && !original.contains("sdpa")) continue;
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + engine_name(engine));
      expect_at_most_twice(errors_of(loaded.model, oracle, engine), original, engine);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DeviceParity, ::testing::ValuesIn(families()),
                         [](const auto& family) { return family.param; });

// One run with statistics and the maps of one head a layer.
struct Watched {
  std::vector<std::vector<AttentionStatistics>> layers;  // by layer and batch row
  std::vector<at::Tensor> maps;                          // [b 1 q k] by layer
  RunResult result;
};

// The maps of head 1 of every layer.
class OneHead final : public Observer {
 public:
  Want want(HookId hook) const override {
    return hook.site == Site::pattern ? Want{.maps = true, .heads = {1}} : Want::nothing();
  }
  void on_map_rows(HookId hook, const MapRows& rows, const Batch&) override {
    blocks_[hook.layer].push_back(rows.values.cpu().clone());
  }
  at::Tensor map(int layer) const { return at::cat(blocks_.at(layer), 2); }

 private:
  std::map<int, std::vector<at::Tensor>> blocks_;
};

Watched watched_run(const PropertyModel& loaded, PadSide side) {
  StatisticsRecorder statistics;
  OneHead maps;
  Taps taps;
  taps.observers = {&statistics, &maps};
  Watched watched;
  watched.result = loaded.model.run(make_batch(loaded.rows, side), taps, {});
  for (int l = 0; l < statistics.n_layers(); ++l) {
    watched.layers.push_back(statistics.layer(l));
    watched.maps.push_back(maps.map(l));
  }
  return watched;
}

using DeviceStatistics = OnDevice;

// The largest difference as a part of max(1, |x|), infinity where one of the two is NaN alone.
double difference(const std::vector<float>& got, const std::vector<float>& expected) {
  if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    const double off = std::abs(double{got[i]} - double{expected[i]});
    const double part = off / std::max(1.0, std::abs(double{expected[i]}));
    largest = std::isnan(part) ? std::numeric_limits<double>::infinity() : std::max(largest, part);
  }
  return largest;
}

TEST_P(DeviceStatistics, AreThoseOfFloat64OnTheCpu) {
  const PropertyModel here = load_property_model(GetParam(), DType::f32, device());
  const PropertyModel dense = load_property_model(GetParam(), DType::f64);
  double largest = 0;
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    const Watched got = watched_run(here, side);
    const Watched expected = watched_run(dense, side);
    const Batch batch = make_batch(here.rows, side);
    ASSERT_EQ(static_cast<int>(got.layers.size()), here.model.config().n_layers);
    for (std::size_t l = 0; l < got.layers.size(); ++l) {
      SCOPED_TRACE("layer " + std::to_string(l) + ", engine " +
                   engine_name(got.result.engines[l].engine));
      for (std::size_t b = 0; b < here.rows.size(); ++b) {
        const AttentionStatistics& ours = got.layers[l][b];
        const AttentionStatistics& theirs = expected.layers[l][b];
        for (const auto& [what, off] : std::map<std::string, double>{
                 {"head_stats", difference(ours.head_stats, theirs.head_stats)},
                 {"row_stats", difference(ours.row_stats, theirs.row_stats)},
                 {"topk_value", difference(ours.topk_value, theirs.topk_value)},
                 {"key_sum", difference(ours.key_sum, theirs.key_sum)},
                 {"value_norm", difference(ours.value_norm, theirs.value_norm)}}) {
          EXPECT_LE(off, kStatisticsTolerance) << what << " of row " << b;
          largest = std::max(largest, off);
        }
        const int row = static_cast<int>(b);
        EXPECT_LE(largest_difference(unpadded_map(got.maps[l], batch, row),
                                     unpadded_map(expected.maps[l], batch, row)),
                  1e-5)
            << "map of row " << b;
      }
    }
  }
  std::printf("%s: statistics %.1e\n", GetParam().c_str(), largest);
}

TEST_P(DeviceStatistics, HaveTheSameBitsWhenRunAgain) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    SCOPED_TRACE(dtype_name(dtype));
    const PropertyModel loaded = load_property_model(GetParam(), dtype, device());
    const Watched first = watched_run(loaded, PadSide::right);
    const Watched second = watched_run(loaded, PadSide::right);
    for (std::size_t l = 0; l < first.layers.size(); ++l) {
      EXPECT_TRUE(same_bits(first.maps[l], second.maps[l])) << "map of layer " << l;
      for (std::size_t b = 0; b < first.layers[l].size(); ++b) {
        const AttentionStatistics& one = first.layers[l][b];
        const AttentionStatistics& two = second.layers[l][b];
        EXPECT_EQ(difference(one.head_stats, two.head_stats), 0);
        EXPECT_EQ(difference(one.row_stats, two.row_stats), 0);
        EXPECT_EQ(difference(one.topk_value, two.topk_value), 0);
        EXPECT_EQ(difference(one.key_sum, two.key_sum), 0);
        EXPECT_EQ(difference(one.value_norm, two.value_norm), 0);
        EXPECT_EQ(one.topk_index, two.topk_index);
        EXPECT_EQ(one.overview, two.overview);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceStatistics, ::testing::ValuesIn(property_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace attnscope::testing
