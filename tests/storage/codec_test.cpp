#include "attnscope/storage/codec.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "attnscope/support/philox.h"
#include "storage/sample.h"

namespace attnscope {
namespace {

// What the stock filters do: inflate unless the mask says no, then undo the byte shuffle.
std::vector<std::byte> decode(const StoredChunk& chunk, std::size_t raw_bytes,
                              std::size_t value_bytes) {
  std::vector<std::byte> shuffled = chunk.bytes;
  if ((chunk.filter_mask & 2U) == 0) {
    shuffled.resize(raw_bytes);
    uLongf size = raw_bytes;
    EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(shuffled.data()), &size,
                         reinterpret_cast<const Bytef*>(chunk.bytes.data()), chunk.bytes.size()),
              Z_OK);
    EXPECT_EQ(size, raw_bytes);
  }
  const std::size_t count = raw_bytes / value_bytes;
  std::vector<std::byte> out(raw_bytes);
  for (std::size_t i = 0; i < raw_bytes; ++i) {
    out[(i % count) * value_bytes + i / count] = shuffled[i];
  }
  return out;
}

TEST(Rounding, KeepsTenBitsToNearestEven) {
  Philox random(1, 0);
  for (int i = 0; i < 400000; ++i) {
    const auto value = std::bit_cast<float>(random.next());
    const float rounded = round_mantissa(value, 10);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(rounded));
    } else {
      EXPECT_EQ(rounded, testing::rounded_to(10, value)) << value;
    }
  }
  EXPECT_EQ(round_mantissa(1.0F + 0x1p-11F, 10), 1.0F);                    // tie to even
  EXPECT_EQ(round_mantissa(1.0F + 3 * 0x1p-11F, 10), 1.0F + 0x1p-9F);      // tie to even
  EXPECT_EQ(round_mantissa(1.0F + 1.1F * 0x1p-11F, 10), 1.0F + 0x1p-10F);  // above the tie
  // A NaN whose payload lies in the bits that are cut stays a NaN.
  EXPECT_TRUE(std::isnan(round_mantissa(std::bit_cast<float>(0x7f800001U), 10)));
  EXPECT_EQ(round_mantissa(-std::numeric_limits<float>::infinity(), 10),
            -std::numeric_limits<float>::infinity());
}

TEST(Rounding, HalvesEqualTheCompilers) {
  Philox random(2, 0);
  for (int i = 0; i < 400000; ++i) {
    const auto value = std::bit_cast<float>(random.next());
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_half(to_half(value))));
      continue;
    }
    const auto expected = static_cast<_Float16>(value);
    EXPECT_EQ(to_half(value), std::bit_cast<std::uint16_t>(expected)) << value;
  }
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits));
    const float value = from_half(static_cast<std::uint16_t>(bits));
    if (std::isnan(static_cast<float>(half))) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(value, static_cast<float>(half));
      EXPECT_EQ(to_half(value), bits);
    }
  }
}

TEST(Codec, TilesDecodeToRoundedValues) {
  const int tokens = 256;
  const std::vector<float> values = testing::sample_pattern(3, 2, tokens);
  ChunkCompressor compressor;
  for (const MapDType dtype : {MapDType::r10, MapDType::r7, MapDType::f32, MapDType::f16}) {
    const TileSource source{.data = values.data(),
                            .heads = 2,
                            .queries = tokens,
                            .keys = tokens,
                            .head_stride = tokens * tokens,
                            .query_stride = tokens};
    const TileTarget target{.dtype = dtype, .heads = 2, .queries = tokens, .keys = tokens};
    const StoredChunk chunk = compressor.compress_tile(source, target);
    const std::size_t width = dtype == MapDType::f16 ? 2 : 4;
    EXPECT_EQ(chunk.filter_mask, 0U);
    EXPECT_LT(chunk.bytes.size(), values.size() * width / 2);
    const auto raw = decode(chunk, values.size() * width, width);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (dtype == MapDType::f16) {
        _Float16 half;
        std::memcpy(&half, &raw[i * 2], 2);
        ASSERT_EQ(half, static_cast<_Float16>(values[i]));
      } else {
        float value = 0;
        std::memcpy(&value, &raw[i * 4], 4);
        const int bits = dtype == MapDType::r10 ? 10 : dtype == MapDType::r7 ? 7 : 23;
        ASSERT_EQ(value, testing::rounded_to(bits, values[i]));
      }
    }
  }
}

TEST(Codec, TilesAreNoLargerThanWithHdf5sOwnGzip1) {
  const std::vector<float> values = testing::sample_pattern(4, 1, 256);
  ChunkCompressor compressor;
  const StoredChunk chunk = compressor.compress_tile(
      {.data = values.data(), .queries = 256, .keys = 256, .query_stride = 256},
      {.queries = 256, .keys = 256});
  // The library's filters: shuffle, then compress2 at level 1.
  std::vector<Bytef> shuffled(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(testing::rounded_to(10, values[i]));
    for (std::size_t p = 0; p < 4; ++p) {
      shuffled[p * values.size() + i] = static_cast<Bytef>(bits >> (8 * p));
    }
  }
  std::vector<Bytef> gzip(compressBound(shuffled.size()));
  uLongf size = gzip.size();
  ASSERT_EQ(compress2(gzip.data(), &size, shuffled.data(), shuffled.size(), 1), Z_OK);
  EXPECT_LE(chunk.bytes.size(), size);
}

TEST(Codec, EdgeTilesArePaddedAndDoublesNarrowed) {
  const float padding = -std::numeric_limits<float>::infinity();
  const std::vector<double> values{1, 2, 3, 4, 5, 6};  // [q=2 k=3] of a 4×4 chunk
  ChunkCompressor compressor;
  const StoredChunk chunk = compressor.compress_tile(
      {.data = values.data(), .dtype = DType::f64, .queries = 2, .keys = 3, .query_stride = 3},
      {.dtype = MapDType::f32, .queries = 4, .keys = 4, .padding = padding});
  const auto raw = decode(chunk, 64, 4);
  const float p = padding;
  const std::vector<float> expected{1, 2, 3, p, 4, 5, 6, p, p, p, p, p, p, p, p, p};
  EXPECT_EQ(std::memcmp(raw.data(), expected.data(), 64), 0);
}

TEST(Codec, FloorDropsSmallValuesOnly) {
  const std::vector<float> values{0x1p-24F, std::nextafter(0x1p-24F, 0.0F), 0x1p-100F, 0.5F};
  ChunkCompressor compressor;
  const StoredChunk chunk = compressor.compress_tile(
      {.data = values.data(), .queries = 1, .keys = 4, .query_stride = 4},
      {.dtype = MapDType::f32, .floor = Floor::on, .queries = 1, .keys = 4});
  const auto raw = decode(chunk, 16, 4);
  const std::vector<float> expected{0x1p-24F, 0, 0, 0.5F};
  EXPECT_EQ(std::memcmp(raw.data(), expected.data(), 16), 0);
}

TEST(Codec, NoiseIsStoredShuffledWithoutDeflate) {
  Philox random(5, 0);
  std::vector<std::uint32_t> noise(4096);
  for (auto& value : noise) value = random.next();
  const auto raw = std::as_bytes(std::span(noise));
  ChunkCompressor compressor;
  const StoredChunk chunk = compressor.compress(raw, 4);
  EXPECT_EQ(chunk.filter_mask, 2U);
  EXPECT_EQ(chunk.bytes.size(), raw.size());
  const auto decoded = decode(chunk, raw.size(), 4);
  EXPECT_EQ(std::memcmp(decoded.data(), raw.data(), raw.size()), 0);
  EXPECT_EQ(compressor.compress_text(raw).filter_mask, 1U);
}

TEST(Codec, TextInflatesAndShrinks) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "{\"prompt\": " + std::to_string(i) + "}\n";
  ChunkCompressor compressor;
  const StoredChunk chunk = compressor.compress_text(std::as_bytes(std::span(text)));
  EXPECT_EQ(chunk.filter_mask, 0U);
  EXPECT_LT(chunk.bytes.size(), text.size() / 4);
  std::string back(text.size(), ' ');
  uLongf size = back.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(back.data()), &size,
                       reinterpret_cast<const Bytef*>(chunk.bytes.data()), chunk.bytes.size()),
            Z_OK);
  EXPECT_EQ(back, text);
}

TEST(Codec, EveryValueSizeDecodes) {
  ChunkCompressor compressor;
  for (const std::size_t width : {1U, 2U, 4U, 8U}) {
    std::vector<std::byte> raw(width * 5000);
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<std::byte>((i / width) >> 6U);
    const StoredChunk chunk = compressor.compress(raw, width);
    EXPECT_LT(chunk.bytes.size(), raw.size());
    EXPECT_EQ(decode(chunk, raw.size(), width), raw);
  }
}

TEST(Codec, BytesDoNotDependOnEarlierChunks) {
  const std::vector<float> a = testing::sample_pattern(1, 1, 200);
  const std::vector<float> b = testing::sample_pattern(2, 1, 200);
  const auto compress = [](ChunkCompressor& compressor, const std::vector<float>& values) {
    return compressor
        .compress_tile({.data = values.data(), .queries = 200, .keys = 200, .query_stride = 200},
                       {.queries = 200, .keys = 200})
        .bytes;
  };
  ChunkCompressor used;
  compress(used, b);
  const auto second = compress(used, a);
  ChunkCompressor fresh;
  EXPECT_TRUE(compress(fresh, a) == second);
}

}  // namespace
}  // namespace attnscope
