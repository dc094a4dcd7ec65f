// Attention in tiles against dense attention in double: every mask, size and variant.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dense_attention.h"

namespace attnscope::testing {
namespace {

// The largest |got − expected| / max(1, |expected|); NaN and infinite values must be the same.
template <typename T>
double largest_error(const std::vector<T>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return 1e300;
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto x = static_cast<double>(got[i]);
    if (std::isnan(x) && std::isnan(expected[i])) continue;
    if (x == expected[i]) continue;
    const double error = std::abs(x - expected[i]) / std::max(1.0, std::abs(expected[i]));
    if (!(error <= largest)) largest = std::isnan(error) ? 1e300 : error;
  }
  return largest;
}

// Dense weights are 0 on hidden keys only.
template <typename T>
int nonzero_where_hidden(const std::vector<T>& got, const std::vector<double>& expected) {
  int count = 0;
  for (std::size_t i = 0; i < got.size(); ++i) count += expected[i] == 0 && got[i] != 0 ? 1 : 0;
  return count;
}

template <typename V>
V part_of_head(const V& all, int head, int n_heads) {
  const auto n = static_cast<std::ptrdiff_t>(all.size()) / n_heads;
  return V(all.begin() + head * n, all.begin() + (head + 1) * n);
}

// The keys of the k largest values of each row, ties by the lower key.
template <typename T>
std::vector<std::int32_t> top_keys(const AttentionCase& c, const std::vector<T>& pattern,
                                   int head) {
  std::vector<std::int32_t> out;
  const int k = std::min(c.top_k, c.n_keys);
  for (int i = 0; i < c.n_queries; ++i) {
    const T* const row =
        &pattern[(static_cast<std::size_t>(head) * static_cast<std::size_t>(c.n_queries) +
                  static_cast<std::size_t>(i)) *
                 static_cast<std::size_t>(c.n_keys)];
    std::vector<int> keys;
    for (int j = 0; j < c.n_keys; ++j) {
      if (c.sees(i, j)) keys.push_back(j);
    }
    std::stable_sort(keys.begin(), keys.end(), [row](int a, int b) { return row[a] > row[b]; });
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(k); ++rank) {
      out.push_back(rank < keys.size() ? keys[rank] : -1);
    }
  }
  return out;
}

struct Tolerance {
  double z, lse, pattern, statistics;
};
template <typename T>
Tolerance tolerance();
template <>
Tolerance tolerance<float>() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // Loops of one lane: 256 terms are added one after the other.
  return {.z = 4e-6, .lse = 2e-6, .pattern = 2e-6, .statistics = 2e-6};
#else
  return {.z = 4e-6, .lse = 1e-6, .pattern = 1e-6, .statistics = 1e-6};
#endif
}
// Statistics are stored in float.
template <>
Tolerance tolerance<double>() {
  return {.z = 1e-13, .lse = 1e-13, .pattern = 1e-13, .statistics = 1.2e-7};
}

template <typename T>
void expect_equal(const AttentionCase& c, const AttentionArrays& arrays,
                  const DenseAttention& dense, const BruteForce* statistics, int head) {
  Asked asked;
  asked.statistics = statistics != nullptr;
  const TiledResult<T> got = run_tiled<T>(c, arrays, asked);
  const Tolerance limit = tolerance<T>();
  EXPECT_LE(largest_error(got.z, dense.z), limit.z) << "z";
  EXPECT_LE(largest_error(got.lse, dense.lse), limit.lse) << "lse";
  EXPECT_LE(largest_error(got.pattern, dense.pattern), limit.pattern) << "pattern";
  EXPECT_EQ(nonzero_where_hidden(got.pattern, dense.pattern), 0) << "hidden keys";
  if (statistics == nullptr) return;
  const AttentionStatistics& all = got.statistics;
  const auto own = [&](const auto& values) { return part_of_head(values, head, c.n_heads); };
  EXPECT_LE(largest_error(own(all.head_stats), statistics->head_stats), limit.statistics) << "head";
  EXPECT_LE(largest_error(own(all.row_stats), statistics->row_stats), limit.statistics) << "rows";
  EXPECT_LE(largest_error(own(all.key_sum), statistics->key_sum), limit.statistics) << "key sums";
  EXPECT_LE(largest_error(own(all.topk_value), statistics->topk_value), limit.statistics) << "top";
  const std::vector<std::uint8_t> overview = own(all.overview);
  for (std::size_t i = 0; i < overview.size(); ++i) {
    ASSERT_LE(std::abs(overview[i] - statistics->overview[i]), 0.5 + 1e-4) << "overview " << i;
  }
  EXPECT_EQ(own(all.topk_index), top_keys(c, got.pattern, head)) << "top keys";
}

void check(const AttentionCase& c) {
  SCOPED_TRACE(c.name());
  const AttentionArrays arrays = random_arrays(c);
  const DenseAttention dense = dense_attention(c, arrays);
  const int head = static_cast<int>(c.seed) % c.n_heads;
  // Statistics are about whole prompts.
  if (c.first_query > 0) {
    expect_equal<float>(c, arrays, dense, nullptr, head);
    expect_equal<double>(c, arrays, dense, nullptr, head);
    return;
  }
  const BruteForce statistics = brute_force(map_of_head(c, arrays, dense, head));
  expect_equal<float>(c, arrays, dense, &statistics, head);
  expect_equal<double>(c, arrays, dense, &statistics, head);
}

struct MaskCase {
  std::string name;
  void (*apply)(AttentionCase& c, int n);
};
struct Variant {
  std::string name;
  void (*apply)(AttentionCase& c);
};

const std::vector<MaskCase> kMasks = {
    {"causal", [](AttentionCase&, int) {}},
    {"bidirectional", [](AttentionCase& c, int) { c.mask = MaskKind::bidirectional; }},
    {"window_1", [](AttentionCase& c, int) { c.window = 1; }},
    {"window_3", [](AttentionCase& c, int) { c.window = 3; }},
    {"window_64", [](AttentionCase& c, int) { c.window = 64; }},
    {"window_100", [](AttentionCase& c, int) { c.window = 100; }},
    {"cross_to_fewer_keys",
     [](AttentionCase& c, int n) {
       c.mask = MaskKind::bidirectional;
       c.n_keys = n / 3 + 1;
     }},
    {"cross_to_more_keys",
     [](AttentionCase& c, int n) {
       c.mask = MaskKind::bidirectional;
       c.n_keys = 2 * n + 5;
     }},
    {"behind_a_prefix",
     [](AttentionCase& c, int n) {
       c.first_query = 7;
       c.n_keys = n + 7;
     }},
    {"window_behind_a_prefix",
     [](AttentionCase& c, int n) {
       c.first_query = 70;
       c.n_keys = n + 70;
       c.window = 40;
     }},
    // Queries from position 20 on, 24 keys, a window of 9: most rows see no key.
    {"window_beyond_the_keys",
     [](AttentionCase& c, int) {
       c.first_query = 20;
       c.n_keys = 24;
       c.window = 9;
     }},
};

const std::vector<Variant> kVariants = {
    {"plain", [](AttentionCase&) {}},
    {"soft_cap", [](AttentionCase& c) { c.softcap = 1.5; }},
    {"bias", [](AttentionCase& c) { c.bias = true; }},
    {"shaw_keys", [](AttentionCase& c) { c.shaw_clip = 4; }},
    {"shaw_values",
     [](AttentionCase& c) {
       c.shaw_clip = 33;
       c.shaw_values = true;
     }},
    {"sink", [](AttentionCase& c) { c.sink = true; }},
    {"all",
     [](AttentionCase& c) {
       c.softcap = 4;
       c.bias = true;
       c.shaw_clip = 0;
       c.shaw_values = true;
       c.sink = true;
     }},
};

constexpr int kSizes[] = {1, 2, 3, 5, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 300};
constexpr int kHeadSizes[] = {1, 4, 6, 64};
constexpr int kHeads[][2] = {{2, 2}, {4, 2}, {3, 1}};  // MHA, GQA, MQA

class EveryMask : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

// Head sizes and kinds of heads take turns, so that each meets every mask and variant.
TEST_P(EveryMask, EqualsDenseAttentionAtEverySize) {
  const auto [mask, variant] = GetParam();
  unsigned turn = static_cast<unsigned>(mask + variant);
  for (const int n : kSizes) {
    AttentionCase c;
    c.n_queries = c.n_keys = n;
    c.d_head = kHeadSizes[turn % 4];
    c.n_heads = kHeads[turn % 3][0];
    c.n_kv_heads = kHeads[turn % 3][1];
    c.seed = ++turn;
    kMasks[mask].apply(c, n);
    kVariants[variant].apply(c);
    check(c);
  }
}

// More keys than a tile of all its rows can hold in the cache.
TEST(TiledAttention, WideTilesEqualDenseAttention) {
  check({.n_queries = 70,
         .n_keys = 2100,
         .d_head = 6,
         .mask = MaskKind::bidirectional,
         .softcap = 3,
         .seed = 2});
  check({.n_queries = 70, .n_keys = 2100, .first_query = 2030, .bias = true, .sink = true});
  check({.n_queries = 33, .n_keys = 3000, .first_query = 2950, .window = 2500, .shaw_clip = 8});
}

INSTANTIATE_TEST_SUITE_P(TiledAttention, EveryMask,
                         ::testing::Combine(::testing::Range(std::size_t{0}, kMasks.size()),
                                            ::testing::Range(std::size_t{0}, kVariants.size())),
                         [](const auto& kind) {
                           return kMasks[std::get<0>(kind.param)].name + "_" +
                                  kVariants[std::get<1>(kind.param)].name;
                         });

}  // namespace
}  // namespace attnscope::testing
