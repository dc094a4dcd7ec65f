#include "inflate.h"

#include <algorithm>
#include <cstring>

#include "attnscope/support/vector_clones.h"

namespace attnscope::storage_detail {
namespace {

constexpr std::size_t kEndOfBlock = 256;
constexpr std::size_t kFirstLength = 257;

// What a length or distance symbol begins at, and how many bits follow it (RFC 1951, 3.2.5).
struct Base {
  std::uint16_t first;
  std::uint8_t extra_bits;
};
constexpr std::array<Base, 29> kLengths{
    {{3, 0},  {4, 0},  {5, 0},  {6, 0},   {7, 0},   {8, 0},   {9, 0},   {10, 0},  {11, 1}, {13, 1},
     {15, 1}, {17, 1}, {19, 2}, {23, 2},  {27, 2},  {31, 2},  {35, 3},  {43, 3},  {51, 3}, {59, 3},
     {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}}};
constexpr std::array<Base, 30> kDistances{
    {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
     {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
     {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
     {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
     {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}}};

constexpr std::array<std::uint8_t, 19> kItemOrder{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};

// Copies `length` bytes from `distance` back; the two may overlap.
void copy_back(unsigned char* to, std::size_t distance, std::size_t length) {
  const unsigned char* from = to - distance;
  if (distance == 1) {
    std::memset(to, *from, length);
  } else if (distance >= length) {
    std::memcpy(to, from, length);
  } else {
    for (std::size_t i = 0; i < length; ++i) to[i] = from[i];
  }
}

}  // namespace

bool DecodeTable::build(std::span<const std::uint8_t> lengths) {
  counts_.fill(0);
  for (const std::uint8_t length : lengths) ++counts_[length];
  counts_[0] = 0;
  // Codes that are left at each length.
  int left = 1;
  int used = 0;
  for (int length = 1; length <= kLongestCode; ++length) {
    left = 2 * left - counts_[static_cast<std::size_t>(length)];
    if (left < 0) return false;
    used += counts_[static_cast<std::size_t>(length)];
  }
  const bool single = used == 1 && counts_[1] == 1;
  complete_ = left == 0;
  if (!complete_ && used > 0 && !single) return false;

  std::array<std::uint16_t, kLongestCode + 2> offsets{};
  std::array<std::uint16_t, kLongestCode + 2> codes{};
  for (std::size_t length = 1; length <= kLongestCode; ++length) {
    offsets[length + 1] = static_cast<std::uint16_t>(offsets[length] + counts_[length]);
    codes[length + 1] = static_cast<std::uint16_t>((codes[length] + counts_[length]) << 1U);
  }
  table_.fill({});
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    const std::size_t length = lengths[symbol];
    if (length == 0) continue;
    symbols_[offsets[length]++] = static_cast<std::uint16_t>(symbol);
    const unsigned code = codes[length]++;
    if (length > kTableBits) continue;
    unsigned reversed = 0;
    for (std::size_t bit = 0; bit < length; ++bit) {
      reversed |= ((code >> bit) & 1U) << (length - 1 - bit);
    }
    for (std::size_t at = reversed; at < table_.size(); at += std::size_t{1} << length) {
      table_[at] = {static_cast<std::uint16_t>(symbol), static_cast<std::uint8_t>(length)};
    }
  }
  return true;
}

DecodeTable::Entry DecodeTable::find_long(std::uint64_t bits) const {
  int code = 0;   // the bits so far, first one highest
  int first = 0;  // first code of this length
  int index = 0;  // its place in symbols_
  for (int length = 1; length <= kLongestCode; ++length) {
    code |= static_cast<int>(bits & 1U);
    bits >>= 1U;
    const int count = counts_[static_cast<std::size_t>(length)];
    if (code - first < count) {
      return {symbols_[static_cast<std::size_t>(index + code - first)],
              static_cast<std::uint8_t>(length)};
    }
    index += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  return {};
}

// The bits of a stream, lowest first. Past the end come zeros; `overrun` then says so.
class Inflater::Reader {
 public:
  explicit Reader(std::span<const std::byte> stream)
      : at_(reinterpret_cast<const unsigned char*>(stream.data())), end_(at_ + stream.size()) {}

  // At least 48 bits.
  std::uint64_t peek() {
    if (count_ < 48) refill();
    return bits_;
  }
  void skip(unsigned count) {
    bits_ >>= count;
    count_ -= count;
  }
  unsigned take(unsigned count) {
    const auto value = static_cast<unsigned>(peek() & ((std::uint64_t{1} << count) - 1));
    skip(count);
    return value;
  }
  bool overrun() const { return missing_ * 8 > count_; }

  // The rest of the current byte is passed over.
  void to_byte() { skip(count_ % 8); }
  // Whole bytes as they are; false if there are fewer.
  bool copy(unsigned char* to, std::size_t bytes) {
    if (overrun()) return false;
    for (; bytes > 0 && count_ > missing_ * 8; --bytes)
      *to++ = static_cast<unsigned char>(take_8());
    if (bytes > static_cast<std::size_t>(end_ - at_)) return false;
    if (bytes > 0) {
      bits_ = 0;
      count_ = 0;
      missing_ = 0;
      std::memcpy(to, at_, bytes);
      at_ += bytes;
    }
    return true;
  }
  // Nothing but the filling of the last byte is left.
  bool is_at_end() const { return !overrun() && at_ == end_ && count_ - missing_ * 8 < 8; }

 private:
  unsigned take_8() {
    const auto value = static_cast<unsigned>(bits_ & 0xffU);
    skip(8);
    return value;
  }
  void refill() {
    if (end_ - at_ >= 8) {
      std::uint64_t next = 0;
      std::memcpy(&next, at_, 8);
      bits_ |= next << count_;
      at_ += (63 - count_) / 8;
      count_ |= 56U;  // bits above come again next time, at the same place
      return;
    }
    while (count_ <= 56) {
      if (at_ < end_) {
        bits_ |= static_cast<std::uint64_t>(*at_++) << count_;
      } else {
        ++missing_;
      }
      count_ += 8;
    }
  }

  const unsigned char* at_;
  const unsigned char* end_;
  std::uint64_t bits_ = 0;
  unsigned count_ = 0;
  unsigned missing_ = 0;  // bytes of zeros in bits_ that the stream does not have
};

// The header of a block with its own codes (RFC 1951, 3.2.7).
bool Inflater::read_codes(Reader& in) {
  const std::size_t n_literals = in.take(5) + 257;
  const std::size_t n_distances = in.take(5) + 1;
  const std::size_t n_items = in.take(4) + 4;
  if (n_literals > kFirstLength + kLengths.size() || n_distances > kDistances.size()) return false;
  std::array<std::uint8_t, 19> item_lengths{};
  for (std::size_t i = 0; i < n_items; ++i) {
    item_lengths[kItemOrder[i]] = static_cast<std::uint8_t>(in.take(3));
  }
  DecodeTable& items = distances_;
  if (!items.build(item_lengths) || !items.is_complete()) return false;
  std::array<std::uint8_t, 320> lengths{};
  for (std::size_t i = 0; i < n_literals + n_distances;) {
    const DecodeTable::Entry item = items.find(in.peek());
    if (item.length == 0 || in.overrun()) return false;
    in.skip(item.length);
    if (item.symbol < 16) {
      lengths[i++] = static_cast<std::uint8_t>(item.symbol);
      continue;
    }
    if (item.symbol == 16 && i == 0) return false;
    const std::uint8_t repeated = item.symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
    const std::size_t times = item.symbol == 16   ? 3 + in.take(2)
                              : item.symbol == 17 ? 3 + in.take(3)
                                                  : 11 + in.take(7);
    if (i + times > n_literals + n_distances) return false;
    std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), times, repeated);
    i += times;
  }
  const std::span all(lengths);
  return lengths[kEndOfBlock] != 0 && !in.overrun() &&
         set_codes(all.first(n_literals), all.subspan(n_literals, n_distances));
}

bool Inflater::set_codes(std::span<const std::uint8_t> literals,
                         std::span<const std::uint8_t> distances) {
  if (!literals_.build(literals) || !distances_.build(distances)) return false;
  const auto is_literal = [](const DecodeTable::Entry& entry) {
    return entry.length != 0 && entry.symbol < kEndOfBlock;
  };
  for (std::size_t bits = 0; bits < runs_.size(); ++bits) {
    Literals& run = runs_[bits] = {};
    const DecodeTable::Entry first = literals_.find_short(bits);
    if (!is_literal(first)) continue;
    run = {{static_cast<unsigned char>(first.symbol), 0}, 1, first.length};
    const DecodeTable::Entry second = literals_.find_short(bits >> first.length);
    if (!is_literal(second) || first.length + second.length > DecodeTable::kTableBits) continue;
    run.bytes[1] = static_cast<unsigned char>(second.symbol);
    run.count = 2;
    run.length = static_cast<std::uint8_t>(first.length + second.length);
  }
  return true;
}

bool Inflater::read_block(Reader& reader, std::span<unsigned char> out, std::size_t& done) const {
  // A copy that no store into `out` could change, so that it stays in registers.
  Reader in = reader;
  unsigned char* to = out.data() + done;
  unsigned char* const end = out.data() + out.size();
  while (true) {
    const std::uint64_t bits = in.peek();
    if (const Literals run = runs_[bits & DecodeTable::kTableMask]; run.count > 0 && end - to > 1) {
      std::memcpy(to, run.bytes.data(), 2);
      to += run.count;
      in.skip(run.length);
      continue;
    }
    const DecodeTable::Entry entry = literals_.find(bits);
    if (entry.length == 0) return false;
    in.skip(entry.length);
    if (entry.symbol < kEndOfBlock) {
      if (to == end) return false;
      *to++ = static_cast<unsigned char>(entry.symbol);
      continue;
    }
    if (in.overrun()) return false;
    if (entry.symbol == kEndOfBlock) break;
    if (entry.symbol - kFirstLength >= kLengths.size()) return false;
    const Base length_base = kLengths[entry.symbol - kFirstLength];
    const std::size_t length = length_base.first + in.take(length_base.extra_bits);
    const DecodeTable::Entry code = distances_.find(in.peek());
    if (code.length == 0 || code.symbol >= kDistances.size()) return false;
    in.skip(code.length);
    const Base distance_base = kDistances[code.symbol];
    const std::size_t distance = distance_base.first + in.take(distance_base.extra_bits);
    if (in.overrun() || distance > static_cast<std::size_t>(to - out.data()) ||
        length > static_cast<std::size_t>(end - to)) {
      return false;
    }
    copy_back(to, distance, length);
    to += length;
  }
  reader = in;
  done = static_cast<std::size_t>(to - out.data());
  return true;
}

bool Inflater::inflate(std::span<const std::byte> stream, std::span<std::byte> out) {
  if (stream.size() < 6) return false;
  const auto header = static_cast<unsigned>(stream[0]) << 8U | static_cast<unsigned>(stream[1]);
  // Deflate, a window of at most 32 KiB, no dictionary.
  if (header % 31 != 0 || (header >> 8U & 0xfU) != 8 || header >> 12U > 7 ||
      (header & 0x20U) != 0) {
    return false;
  }
  Reader in(stream.subspan(2, stream.size() - 6));
  const std::span bytes(reinterpret_cast<unsigned char*>(out.data()), out.size());
  std::size_t done = 0;
  bool last = false;
  while (!last) {
    last = in.take(1) != 0;
    const unsigned kind = in.take(2);
    if (kind == 0) {
      in.to_byte();
      const unsigned size = in.take(16);
      if ((in.take(16) ^ size) != 0xffffU || size > bytes.size() - done) return false;
      if (!in.copy(bytes.data() + done, size)) return false;
      done += size;
    } else if (kind == 1) {
      std::array<std::uint8_t, DecodeTable::kMaxSymbols> lengths{};
      for (std::size_t s = 0; s < lengths.size(); ++s) {
        lengths[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
      }
      const std::array<std::uint8_t, 32> distances = [] {
        std::array<std::uint8_t, 32> five{};
        five.fill(5);
        return five;
      }();
      if (!set_codes(lengths, distances) || !read_block(in, bytes, done)) return false;
    } else if (kind == 3 || !read_codes(in) || !read_block(in, bytes, done)) {
      return false;
    }
    if (in.overrun()) return false;
  }
  std::uint32_t checksum = 0;
  for (const std::byte byte : stream.last(4)) {
    checksum = checksum << 8U | static_cast<std::uint32_t>(byte);
  }
  return done == out.size() && in.is_at_end() && checksum == adler32_of(out);
}

// RFC 1950: a = 1 + Σ bytes, b = Σ of all values of a, both modulo 65521. Over a block of n bytes b
// grows by n·a and by each byte as often as bytes follow it, itself included.
ATTNSCOPE_CLONES std::uint32_t adler32_of(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kModulus = 65521;
  constexpr std::size_t kLanes = 32;
  constexpr std::size_t kGroups = 4096;  // sums of a block stay below 2^32
  std::uint64_t a = 1;
  std::uint64_t b = 0;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  while (left >= kLanes) {
    const std::size_t groups = std::min(kGroups, left / kLanes);
    std::array<std::uint32_t, kLanes> sum{};   // of the bytes of a lane
    std::array<std::uint32_t, kLanes> sums{};  // of `sum` before each group
    for (std::size_t g = 0; g < groups; ++g, at += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += sum[lane];
        sum[lane] += at[lane];
      }
    }
    b += groups * kLanes * a;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      a += sum[lane];
      b += std::uint64_t{kLanes} * sums[lane] + (kLanes - lane) * std::uint64_t{sum[lane]};
    }
    a %= kModulus;
    b %= kModulus;
    left -= groups * kLanes;
  }
  for (; left > 0; --left) {
    a += *at++;
    b += a;
  }
  return static_cast<std::uint32_t>((b % kModulus) << 16U | a % kModulus);
}

}  // namespace attnscope::storage_detail
