#include "plane_deflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "attnscope/support/philox.h"
#include "deflate_block.h"
#include "huffman.h"

namespace attnscope::storage_detail {
namespace {

using Data = std::vector<unsigned char>;

Data inflated(std::span<const std::byte> stream, std::size_t bytes) {
  Data out(bytes + 1);
  uLongf size = out.size();
  EXPECT_EQ(
      uncompress(out.data(), &size, reinterpret_cast<const Bytef*>(stream.data()), stream.size()),
      Z_OK);
  out.resize(size);
  return out;
}

void expect_comes_back(PlaneDeflater& deflater, const Data& data, std::size_t plane_bytes) {
  const auto stream = deflater.deflate(std::as_bytes(std::span(data)), plane_bytes);
  const std::size_t planes = plane_bytes == 0 ? 1 : data.size() / plane_bytes + 1;
  EXPECT_LE(stream.size(), data.size() + 6 + 6 * (planes + data.size() / 65535));
  ASSERT_EQ(inflated(stream, data.size()), data) << data.size() << " bytes by " << plane_bytes;
}

// What zlib makes of the same planes when it, too, looks for runs only.
std::size_t zlib_runs_bytes(const Data& data, std::size_t plane_bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 15, 9, Z_RLE), Z_OK);
  Data out(compressBound(data.size()) + 1000);
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  for (std::size_t at = 0; at < data.size(); at += plane_bytes) {
    const std::size_t bytes = std::min(plane_bytes, data.size() - at);
    stream.next_in = const_cast<Bytef*>(data.data() + at);
    stream.avail_in = static_cast<uInt>(bytes);
    ::deflate(&stream, at + bytes == data.size() ? Z_FINISH : Z_FULL_FLUSH);
  }
  deflateEnd(&stream);
  return stream.total_out;
}

TEST(PlaneDeflater, SmallInputsComeBack) {
  PlaneDeflater deflater;
  expect_comes_back(deflater, {}, 0);
  expect_comes_back(deflater, {}, 4);
  for (std::size_t n = 1; n < 40; ++n) {
    for (std::size_t plane = 0; plane <= n + 1; ++plane) {
      expect_comes_back(deflater, Data(n, 0xa5), plane);
      Data counting(n);
      for (std::size_t i = 0; i < n; ++i) counting[i] = static_cast<unsigned char>(i);
      expect_comes_back(deflater, counting, plane);
    }
  }
}

TEST(PlaneDeflater, RunsOfEveryLengthAtEveryPlaceComeBack) {
  PlaneDeflater deflater;
  for (std::size_t length = 1; length < 800; ++length) {
    const std::size_t before = length % 19;
    Data data;
    for (std::size_t i = 0; i < before; ++i) data.push_back(static_cast<unsigned char>(i % 3 + 1));
    data.insert(data.end(), length, 7);
    for (std::size_t i = 0; i < length % 5; ++i) data.push_back(static_cast<unsigned char>(9 + i));
    data.insert(data.end(), length, 7);
    expect_comes_back(deflater, data, data.size());
    expect_comes_back(deflater, data, data.size() / 2 + 1);
  }
}

TEST(PlaneDeflater, MixturesOfRunsAndNoiseComeBack) {
  Philox random(11, 0);
  PlaneDeflater deflater;
  for (int trial = 0; trial < 400; ++trial) {
    const std::uint32_t alphabet = 1 + random.next() % 256;
    const std::uint32_t longest = 1U << random.next() % 12;
    Data data;
    const std::size_t bytes = random.next() % 20000;
    while (data.size() < bytes) {
      const auto value = static_cast<unsigned char>(random.next() % alphabet);
      data.insert(data.end(), 1 + random.next() % longest, value);
    }
    expect_comes_back(deflater, data, 1 + random.next() % 8192);
  }
}

TEST(PlaneDeflater, NoiseOfSeveralStoredBlocksComesBack) {
  Philox random(12, 0);
  PlaneDeflater deflater;
  for (const std::size_t bytes : {65534U, 65535U, 65536U, 131070U, 200000U}) {
    Data data(bytes);
    for (auto& byte : data) byte = static_cast<unsigned char>(random.next());
    expect_comes_back(deflater, data, 0);
    expect_comes_back(deflater, data, 65536);
    // Between planes that are coded, so that a stored block begins inside a byte.
    std::fill_n(data.begin(), 1001, static_cast<unsigned char>(3));
    expect_comes_back(deflater, data, 1001);
  }
}

TEST(PlaneDeflater, ARunCostsNextToNothing) {
  PlaneDeflater deflater;
  const Data zeros(65536, 0);
  EXPECT_LT(deflater.deflate(std::as_bytes(std::span(zeros)), zeros.size()).size(), 100U);
}

TEST(PlaneDeflater, IsAsSmallAsZlibsRuns) {
  // Exponents of attention weights: few values, unevenly frequent, with masked rows' ends.
  Philox random(13, 0);
  constexpr std::size_t kRow = 256;
  Data data(kRow * kRow, 0);
  for (std::size_t q = 0; q < kRow; ++q) {
    for (std::size_t k = 0; k <= q; ++k) {
      data[q * kRow + k] = static_cast<unsigned char>(0x38 + __builtin_ctz(random.next() | 256U));
    }
  }
  PlaneDeflater deflater;
  const auto ours = deflater.deflate(std::as_bytes(std::span(data)), data.size()).size();
  EXPECT_LE(static_cast<double>(ours),
            1.01 * static_cast<double>(zlib_runs_bytes(data, data.size())));
}

TEST(PlaneDeflater, EarlierDataLeavesNoTrace) {
  Data a(5000);
  Data b(9000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<unsigned char>(i * i >> 7U);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<unsigned char>(i * 31 >> 4U);
  PlaneDeflater fresh;
  PlaneDeflater used;
  used.deflate(std::as_bytes(std::span(b)), 1000);
  const auto x = fresh.deflate(std::as_bytes(std::span(a)), 1250);
  const auto y = used.deflate(std::as_bytes(std::span(a)), 1250);
  EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end()));
}

// The least number of bits, by the textbook's one queue.
std::uint64_t least_bits(const std::vector<std::uint32_t>& counts) {
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue;
  for (const std::uint32_t count : counts) {
    if (count != 0) queue.push(count);
  }
  std::uint64_t bits = 0;
  while (queue.size() > 1) {
    const std::uint64_t least = queue.top();
    queue.pop();
    const std::uint64_t sum = least + queue.top();
    queue.pop();
    queue.push(sum);
    bits += sum;
  }
  return bits;
}

TEST(Huffman, LengthsAreOptimalWhereTheLimitAllows) {
  Philox random(14, 0);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::uint32_t> counts(2 + random.next() % 285);
    for (auto& count : counts) count = random.next() % 3 == 0 ? 0 : 1 + random.next() % 1000;
    counts.front() = counts.back() = 1;
    std::vector<std::uint8_t> lengths(counts.size());
    huffman_lengths(counts, 24, lengths);
    std::uint64_t bits = 0;
    double kraft = 0;
    for (std::size_t s = 0; s < counts.size(); ++s) {
      bits += std::uint64_t{counts[s]} * lengths[s];
      EXPECT_EQ(lengths[s] == 0, counts[s] == 0);
      if (lengths[s] != 0) kraft += 1.0 / static_cast<double>(1U << lengths[s]);
    }
    EXPECT_EQ(bits, least_bits(counts));
    EXPECT_EQ(kraft, 1.0);
  }
}

TEST(Huffman, FibonacciCountsKeepTheLimit) {
  // Their optimal code is one symbol deeper for each count.
  std::vector<std::uint32_t> counts{1, 1};
  while (counts.size() < 40)
    counts.push_back(counts[counts.size() - 1] + counts[counts.size() - 2]);
  for (const int limit : {6, 7, 14, 15}) {
    std::vector<std::uint8_t> lengths(counts.size());
    huffman_lengths(counts, limit, lengths);
    double kraft = 0;
    for (const std::uint8_t length : lengths) {
      EXPECT_LE(length, limit);
      EXPECT_GT(length, 0);
      kraft += 1.0 / static_cast<double>(1U << length);
    }
    EXPECT_EQ(kraft, 1.0);
  }
}

TEST(PlaneDeflater, SteepCountsComeBack) {
  PlaneDeflater deflater;
  Data data;
  std::uint32_t a = 1;
  std::uint32_t b = 1;
  for (int symbol = 0; symbol < 24; ++symbol) {
    for (std::uint32_t i = 0; i < a; ++i) data.push_back(static_cast<unsigned char>(symbol));
    a = std::exchange(b, a + b);
  }
  // Scattered, so that they are literals and not runs.
  Philox random(15, 0);
  for (std::size_t i = data.size(); i > 1; --i) std::swap(data[i - 1], data[random.next() % i]);
  expect_comes_back(deflater, data, data.size());
}

TEST(MatchLengths, FollowTheStandardsTable) {
  // RFC 1951, section 3.2.5: symbol, extra bits, first length.
  struct Line {
    int symbol, extra_bits;
    std::uint32_t first;
  };
  for (const Line line : {Line{257, 0, 3},
                          {264, 0, 10},
                          {265, 1, 11},
                          {269, 2, 19},
                          {273, 3, 35},
                          {277, 4, 67},
                          {281, 5, 131},
                          {284, 5, 227},
                          {285, 0, 258}}) {
    const MatchLength match = match_length(line.first);
    EXPECT_EQ(match.symbol, line.symbol);
    EXPECT_EQ(match.extra_bits, line.extra_bits);
    EXPECT_EQ(match.extra, 0);
  }
  EXPECT_EQ(match_length(257).symbol, 284);
  EXPECT_EQ(match_length(257).extra, 30);
}

}  // namespace
}  // namespace attnscope::storage_detail
