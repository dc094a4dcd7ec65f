#include "inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attnscope/support/philox.h"

namespace attnscope::storage_detail {
namespace {

using Bytes = std::vector<unsigned char>;

// What zlib makes of a stream that is to hold `size` bytes; nothing if it refuses.
std::optional<Bytes> by_zlib(const Bytes& stream, std::size_t size) {
  z_stream state{};
  EXPECT_EQ(inflateInit(&state), Z_OK);
  Bytes out(size + 1);
  state.next_in = const_cast<Bytef*>(stream.data());
  state.avail_in = static_cast<uInt>(stream.size());
  state.next_out = out.data();
  state.avail_out = static_cast<uInt>(out.size());
  const bool whole =
      ::inflate(&state, Z_FINISH) == Z_STREAM_END && state.avail_in == 0 && state.total_out == size;
  inflateEnd(&state);
  if (!whole) return std::nullopt;
  out.resize(size);
  return out;
}

std::optional<Bytes> by_us(const Bytes& stream, std::size_t size) {
  Inflater inflater;
  Bytes out(size);
  if (!inflater.inflate(std::as_bytes(std::span(stream)), std::as_writable_bytes(std::span(out)))) {
    return std::nullopt;
  }
  return out;
}

struct Settings {
  int level = 6;
  int strategy = Z_DEFAULT_STRATEGY;
  std::size_t flush_every = 0;
};

Bytes deflated(const Bytes& data, const Settings& settings) {
  z_stream state{};
  EXPECT_EQ(deflateInit2(&state, settings.level, Z_DEFLATED, 15, 9, settings.strategy), Z_OK);
  Bytes out(data.size() + data.size() / 2 + 1000);
  state.next_out = out.data();
  state.avail_out = static_cast<uInt>(out.size());
  const std::size_t step = settings.flush_every == 0 ? data.size() : settings.flush_every;
  for (std::size_t at = 0; at < data.size() && step > 0; at += step) {
    state.next_in = const_cast<Bytef*>(data.data() + at);
    state.avail_in = static_cast<uInt>(std::min(step, data.size() - at));
    ::deflate(&state, Z_FULL_FLUSH);
  }
  ::deflate(&state, Z_FINISH);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

// Noise, runs, text and few values, which make each kind of block and code.
Bytes sample(std::uint64_t seed, std::size_t size) {
  Philox random(77, seed);
  Bytes out;
  while (out.size() < size) {
    const std::uint32_t kind = random.below(4);
    const std::size_t length = std::min<std::size_t>(size - out.size(), 1 + random.below(2000));
    const auto value = static_cast<unsigned char>(random.below(256));
    for (std::size_t i = 0; i < length; ++i) {
      if (kind == 0) {
        out.push_back(static_cast<unsigned char>(random.below(256)));
      } else if (kind == 1) {
        out.push_back(value);
      } else if (kind == 2 && out.size() > 300) {
        out.push_back(out[out.size() - 37 - value]);
      } else {
        out.push_back(static_cast<unsigned char>(value + random.below(3) * random.below(3)));
      }
    }
  }
  return out;
}

TEST(Inflate, WhatZlibMakesComesBack) {
  for (const std::size_t size : {0, 1, 2, 31, 32, 33, 255, 258, 259, 5000, 70000, 300000}) {
    const Bytes data = sample(size, size);
    for (const int level : {0, 1, 6, 9}) {
      for (const int strategy : {Z_DEFAULT_STRATEGY, Z_RLE, Z_HUFFMAN_ONLY, Z_FIXED}) {
        for (const std::size_t flush : {std::size_t{0}, size / 3 + 1}) {
          const Bytes stream = deflated(data, {level, strategy, flush});
          EXPECT_EQ(by_us(stream, size), data) << size << " " << level << " " << strategy;
          if (size > 0) {
            EXPECT_FALSE(by_us(stream, size - 1)) << size;
          }
          EXPECT_FALSE(by_us(stream, size + 1)) << size;
        }
      }
    }
  }
}

TEST(Inflate, CutAndLengthenedStreamsAreRefused) {
  const Bytes data = sample(1, 3000);
  const Bytes stream = deflated(data, {});
  for (std::size_t bytes = 0; bytes < stream.size(); ++bytes) {
    EXPECT_FALSE(
        by_us({stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(bytes)}, data.size()))
        << bytes;
  }
  Bytes longer = stream;
  longer.push_back(0);
  EXPECT_FALSE(by_us(longer, data.size()));
}

// zlib is the judge of every damaged stream, with the checksum put right so that it decides less.
TEST(Inflate, DamagedStreamsAreJudgedAsByZlib) {
  Philox random(78, 0);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::size_t size = random.below(400);
    const Bytes data = sample(static_cast<std::uint64_t>(i % 50), size);
    const int strategies[] = {Z_DEFAULT_STRATEGY, Z_RLE, Z_FIXED};
    Bytes stream = deflated(data, {static_cast<int>(random.below(10)), strategies[i % 3],
                                   i % 2 == 0 ? 0 : size / 2 + 1});
    const std::uint32_t flips = random.below(4);
    for (std::uint32_t f = 0; f < flips; ++f) {
      stream[random.below(static_cast<std::uint32_t>(stream.size()))] ^=
          static_cast<unsigned char>(1U << random.below(8));
    }
    // What zlib reads of it without looking at the checksum.
    z_stream raw{};
    ASSERT_EQ(inflateInit2(&raw, -15), Z_OK);
    Bytes out(size + 300);
    raw.next_in = stream.data() + 2;
    raw.avail_in = static_cast<uInt>(stream.size() - 6);
    raw.next_out = out.data();
    raw.avail_out = static_cast<uInt>(out.size());
    const bool ended = ::inflate(&raw, Z_FINISH) == Z_STREAM_END;
    inflateEnd(&raw);
    if (ended) {
      const uLong sum = adler32(1, out.data(), static_cast<uInt>(raw.total_out));
      for (std::size_t b = 0; b < 4; ++b) {
        stream[stream.size() - 1 - b] = static_cast<unsigned char>(sum >> (8 * b));
      }
    }
    const std::size_t claimed = ended ? raw.total_out : size;
    const auto expected = by_zlib(stream, claimed);
    const auto got = by_us(stream, claimed);
    ASSERT_EQ(got.has_value(), expected.has_value()) << "case " << i;
    if (expected) {
      ++accepted;
      EXPECT_EQ(*got, *expected) << "case " << i;
    }
  }
  EXPECT_GT(accepted, 4000);
  EXPECT_LT(accepted, 16000);
}

TEST(Inflate, NoiseIsNoStream) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Philox random(79, seed);
    Bytes stream{0x78, 0x9c};
    for (std::uint32_t i = random.below(200); i > 0; --i) {
      stream.push_back(static_cast<unsigned char>(random.below(256)));
    }
    EXPECT_EQ(by_us(stream, 100).has_value(), by_zlib(stream, 100).has_value());
  }
}

TEST(Inflate, TheChecksumIsAdler32) {
  for (const std::size_t size : {0, 1, 31, 32, 33, 5552, 100000, 131072, 300001}) {
    const Bytes noise = sample(size, size);
    const Bytes full(size, 0xff);
    for (const Bytes& data : {noise, full}) {
      EXPECT_EQ(adler32_of(std::as_bytes(std::span(data))), adler32_z(1, data.data(), data.size()))
          << size;
    }
  }
}

}  // namespace
}  // namespace attnscope::storage_detail
