// Long prompts: statistics and selected maps must not hold the maps of a layer.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>

#include "attnscope/model/model.h"
#include "recorder.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

// A value of /proc/self/status in bytes.
std::uint64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word != key) continue;
    std::uint64_t kibibytes = 0;
    file >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

// Largest growth of resident memory while `function` runs; nothing where the kernel does not let
// the peak be reset.
template <typename Function>
std::optional<std::uint64_t> peak_growth(Function&& function) {
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;
  if (!reset) return std::nullopt;
  const std::uint64_t before = status_bytes("VmRSS:");
  function();
  const std::uint64_t peak = status_bytes("VmHWM:");
  return peak > before ? peak - before : 0;
}

constexpr int kTokens = 4096;
constexpr int kHeads = 8;

class LongPromptTest : public ::testing::Test {
 protected:
  LongPromptTest() : model_(make()) {
    TokenRow row;
    for (int i = 0; i < kTokens; ++i) row.ids.push_back((i * 7919) % 97);
    batch_ = make_batch({row});
  }

  static Model make() {
    TinyShape shape = {.n_heads = kHeads,
                       .n_kv_heads = 2,
                       .d_model = 32,
                       .d_head = 4,
                       .d_vocab = 97,
                       .n_context = kTokens};
    shape.scale = 0.5;
    return tiny_model(tiny_config(shape), random_values, DType::f32);
  }

  void expect_small(Observer& observer) {
    Taps taps;
    taps.observers = {&observer};
    const auto growth = peak_growth([&] { model_.run(batch_, taps, {}); });
    if (!growth) GTEST_SKIP() << "the kernel does not let the peak of memory be reset";
    constexpr std::uint64_t kMaps = std::uint64_t{kHeads} * kTokens * kTokens * sizeof(float);
    EXPECT_LT(*growth, kMaps / 8) << "of " << kMaps;
  }

  Model model_;
  Batch batch_;
};

TEST_F(LongPromptTest, StatisticsOnly) {
  Recorder recorder({Site::embed});
  recorder.statistics_wanted = true;
  expect_small(recorder);
  EXPECT_EQ(recorder.statistics(0)[0].n_queries, kTokens);
}

TEST_F(LongPromptTest, OneSelectedHead) {
  class Counter final : public Observer {
   public:
    Want want(HookId hook) const override {
      if (hook.site != Site::pattern) return Want::nothing();
      return {.maps = true, .heads = {5}};
    }
    void on_map_rows(HookId, const MapRows& rows, const Batch&) override {
      EXPECT_LE(rows.values.size(2), 128);
      n_rows += rows.values.size(2);
      mass += rows.values.sum().item<double>();
    }
    std::int64_t n_rows = 0;
    double mass = 0;
  };
  Counter counter;
  expect_small(counter);
  EXPECT_EQ(counter.n_rows, kTokens);
  EXPECT_NEAR(counter.mass, kTokens, 1e-2);
}

}  // namespace
}  // namespace attnscope::testing
