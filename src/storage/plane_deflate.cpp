#include "plane_deflate.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "deflate_block.h"

namespace attnscope::storage_detail {
namespace {

constexpr std::size_t kLiterals = 256;
constexpr std::size_t kStoredBytes = 65535;  // the most that one stored block holds
constexpr std::size_t kStoredHeader = 5;

std::uint64_t load_word(const unsigned char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Calls f with the lengths of the matches, each 3…258, that make up a run of `length` ≥ 3.
template <typename F>
void split_run(std::size_t length, F f) {
  while (length > kLongestMatch) {
    // What is left must be a match again.
    const std::size_t taken = length < kLongestMatch + 3 ? length - 3 : kLongestMatch;
    f(static_cast<std::uint32_t>(taken));
    length -= taken;
  }
  f(static_cast<std::uint32_t>(length));
}

// How often each byte occurs. Four tables, so that equal neighbours do not wait for each other.
class Histogram {
 public:
  void add(std::span<const unsigned char> bytes) {
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      const std::uint64_t word = load_word(bytes.data() + i);
      for (std::size_t lane = 0; lane < 8; ++lane) ++tables_[lane % 4][word >> (8 * lane) & 0xffU];
    }
    for (; i < bytes.size(); ++i) ++tables_[0][bytes[i]];
  }
  std::uint32_t operator[](std::size_t value) const {
    return tables_[0][value] + tables_[1][value] + tables_[2][value] + tables_[3][value];
  }

 private:
  std::array<std::array<std::uint32_t, kLiterals>, 4> tables_{};
};

std::size_t stored_blocks(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + kStoredBytes - 1) / kStoredBytes);
}

void write_stored(std::span<const unsigned char> plane, bool last, BitWriter& out) {
  for (std::size_t left = stored_blocks(plane.size()); left > 0; --left) {
    const auto piece = plane.first(std::min(kStoredBytes, plane.size()));
    plane = plane.subspan(piece.size());
    out.put(last && left == 1 ? 1 : 0, 3);
    out.align();
    out.put(piece.size(), 16);
    out.put(piece.size() ^ 0xffffU, 16);
    out.flush();
    out.copy(piece);
  }
}

void write_literals(std::span<const unsigned char> bytes, const Code* codes, BitWriter& out) {
  BitWriter bits = out;  // a copy stays in registers
  const unsigned char* at = bytes.data();
  const unsigned char* const end = at + bytes.size();
  for (; end - at >= 4; at += 4) {
    bits.put(codes[at[0]]);
    bits.put(codes[at[1]]);
    bits.put(codes[at[2]]);
    bits.put(codes[at[3]]);
    bits.flush();
  }
  for (; at < end; ++at) {
    bits.put(codes[*at]);
    bits.flush();
  }
  out = bits;
}

}  // namespace

// Finds every run of 16 or more and some of those from 8 on: shorter ones cost more as matches than
// the frequent bytes they are made of.
void PlaneDeflater::find_runs(Bytes plane) {
  runs_.clear();
  const unsigned char* bytes = plane.data();
  const std::size_t n = plane.size();
  std::size_t first = 1;  // a run repeats the byte before it
  for (std::size_t i = 1; i + 8 <= n; i += 8) {
    const std::uint64_t word = load_word(bytes + i);
    if (word != load_word(bytes + i - 1)) continue;
    std::size_t begin = i;
    while (begin > first && bytes[begin - 2] == bytes[i]) --begin;
    std::size_t end = i + 8;
    while (end + 8 <= n && load_word(bytes + end) == word) end += 8;
    while (end < n && bytes[end] == bytes[i]) ++end;
    runs_.push_back({begin, end - begin});
    first = end + 1;
    i = end + 1 - 8;
  }
}

template <typename Gap, typename OneRun>
void PlaneDeflater::walk(Bytes plane, Gap gap, OneRun run) const {
  std::size_t at = 0;
  for (const Run& r : runs_) {
    gap(plane.subspan(at, r.begin - at));
    run(r.length);
    at = r.begin + r.length;
  }
  gap(plane.subspan(at));
}

void PlaneDeflater::write_plane(Bytes plane, bool last, BitWriter& out) {
  if (plane.empty()) {  // no code has a single symbol
    write_stored(plane, last, out);
    return;
  }
  find_runs(plane);
  Histogram literals;
  std::array<std::uint32_t, kBlockSymbols> counts{};
  std::uint64_t match_bits = 0;
  walk(
      plane, [&](Bytes gap) { literals.add(gap); },
      [&](std::size_t run) {
        split_run(run, [&](std::uint32_t length) {
          const MatchLength match = match_length(length);
          ++counts[match.symbol];
          match_bits += match.extra_bits + 1U;
        });
      });
  for (std::size_t value = 0; value < kLiterals; ++value) counts[value] = literals[value];
  counts[kEndOfBlock] = 1;

  const BlockCode code(counts);
  const std::size_t stored = plane.size() + kStoredHeader * stored_blocks(plane.size());
  if (code.bits() + match_bits >= 8 * stored) {
    write_stored(plane, last, out);
    return;
  }
  code.write_header(last, out);
  walk(
      plane, [&](Bytes gap) { write_literals(gap, code.literals(), out); },
      [&](std::size_t run) {
        split_run(run, [&](std::uint32_t length) {
          const MatchLength match = match_length(length);
          out.put(code[match.symbol]);
          out.put(match.extra, match.extra_bits);
          out.put(0, 1);  // the distance
          out.flush();
        });
      });
  out.put(code[kEndOfBlock]);
  out.flush();
}

std::span<const std::byte> PlaneDeflater::deflate(std::span<const std::byte> data,
                                                  std::size_t plane_bytes) {
  const Bytes bytes(reinterpret_cast<const unsigned char*>(data.data()), data.size());
  const std::size_t planes = plane_bytes == 0 ? 1 : data.size() / plane_bytes + 1;
  // A stored block also fills up the byte before it.
  const std::size_t headers = (kStoredHeader + 1) * (planes + data.size() / kStoredBytes);
  constexpr std::size_t kFrame = 2 + 4;  // the stream's own header and checksum
  constexpr std::size_t kBitWriterRoom = 8;
  out_.resize(data.size() + headers + kFrame + kBitWriterRoom);

  BitWriter out(out_.data());
  constexpr unsigned kZlibHeader = 0x0178;  // deflate, a window of 32 KiB
  out.put(kZlibHeader, 16);
  out.flush();
  Bytes left = bytes;
  do {
    const Bytes plane =
        left.first(plane_bytes == 0 ? left.size() : std::min(plane_bytes, left.size()));
    left = left.subspan(plane.size());
    write_plane(plane, left.empty(), out);
  } while (!left.empty());
  out.align();
  const auto sum = static_cast<std::uint32_t>(adler32_z(1, bytes.data(), bytes.size()));
  for (int shift = 24; shift >= 0; shift -= 8) out.put(sum >> shift & 0xffU, 8);
  out.flush();
  return {out_.data(), out.end()};
}

}  // namespace attnscope::storage_detail
