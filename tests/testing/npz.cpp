#include "testing/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace attnscope::testing {
namespace {

template <typename T>
T little(const std::vector<char>& data, std::size_t at) {
  if (at + sizeof(T) > data.size()) throw std::runtime_error("npz: cut file");
  T value;
  std::memcpy(&value, data.data() + at, sizeof(T));
  return value;
}

std::vector<char> inflate_raw(const char* data, std::size_t size, std::size_t out_size) {
  std::vector<char> out(out_size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::runtime_error("npz: zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data));
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("npz: bad deflate data");
  return out;
}

std::string header_value(const std::string& header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string::npos) throw std::runtime_error("npy: no " + key);
  return header.substr(at + key.size() + 3);
}

// Rearranges values that lie with the first axis running fastest.
void to_c_order(NpzArray& array) {
  const std::size_t size = array.bytes.size() / static_cast<std::size_t>(array.numel());
  std::vector<char> ordered(array.bytes.size());
  for (std::int64_t i = 0; i < array.numel(); ++i) {
    std::int64_t rest = i, from = 0, stride = array.numel();
    for (std::size_t axis = array.shape.size(); axis-- > 0;) {
      stride /= array.shape[axis];
      from += rest % array.shape[axis] * stride;
      rest /= array.shape[axis];
    }
    std::copy_n(array.bytes.begin() + from * static_cast<std::int64_t>(size), size,
                ordered.begin() + i * static_cast<std::int64_t>(size));
  }
  array.bytes = std::move(ordered);
}

NpzArray parse_npy(const std::vector<char>& data) {
  if (data.size() < 10 || std::memcmp(data.data(), "\x93NUMPY", 6) != 0) {
    throw std::runtime_error("npy: bad magic");
  }
  const bool long_header = data[6] >= 2;
  const std::size_t length =
      long_header ? little<std::uint32_t>(data, 8) : little<std::uint16_t>(data, 8);
  const std::size_t begin = long_header ? 12 : 10;
  const std::string header(data.data() + begin, length);
  NpzArray array;
  const std::string descr = header_value(header, "descr");
  const std::size_t open = descr.find('\'');
  array.dtype = descr.substr(open + 1, descr.find('\'', open + 1) - open - 1);
  const bool fortran_order = header_value(header, "fortran_order").find("True") < 6;
  const std::string shape = header_value(header, "shape");
  std::size_t pos = shape.find('(') + 1;
  const std::size_t end = shape.find(')');
  while (pos < end) {
    const std::size_t digit = shape.find_first_of("0123456789", pos);
    if (digit == std::string::npos || digit >= end) break;
    std::size_t used = 0;
    array.shape.push_back(std::stoll(shape.substr(digit), &used));
    pos = digit + used;
  }
  array.bytes.assign(data.begin() + static_cast<std::ptrdiff_t>(begin + length), data.end());
  if (fortran_order) to_c_order(array);
  return array;
}

template <typename Out>
std::vector<Out> convert(const NpzArray& a) {
  std::vector<Out> out(static_cast<std::size_t>(a.numel()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (a.dtype == "<f8") {
      out[i] = static_cast<Out>(little<double>(a.bytes, i * 8));
    } else if (a.dtype == "<f4") {
      out[i] = static_cast<Out>(little<float>(a.bytes, i * 4));
    } else if (a.dtype == "<i8") {
      out[i] = static_cast<Out>(little<std::int64_t>(a.bytes, i * 8));
    } else if (a.dtype == "<i4") {
      out[i] = static_cast<Out>(little<std::int32_t>(a.bytes, i * 4));
    } else {
      throw std::runtime_error("npy: dtype " + a.dtype);
    }
  }
  return out;
}

}  // namespace

std::int64_t NpzArray::numel() const {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

std::vector<double> NpzArray::as_double() const {
  return convert<double>(*this);
}
std::vector<std::int64_t> NpzArray::as_int64() const {
  return convert<std::int64_t>(*this);
}

Npz read_npz(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  const std::vector<char> zip((std::istreambuf_iterator<char>(in)), {});
  std::size_t end = zip.size();
  if (end < 22) throw std::runtime_error("npz: cut file " + path);
  end -= 22;
  while (end > 0 && little<std::uint32_t>(zip, end) != 0x06054b50u) --end;
  const std::size_t count = little<std::uint16_t>(zip, end + 10);
  std::size_t at = little<std::uint32_t>(zip, end + 16);
  Npz out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto method = little<std::uint16_t>(zip, at + 10);
    const auto packed = little<std::uint32_t>(zip, at + 20);
    const auto plain = little<std::uint32_t>(zip, at + 24);
    const auto name_length = little<std::uint16_t>(zip, at + 28);
    const auto extra = little<std::uint16_t>(zip, at + 30);
    const auto comment = little<std::uint16_t>(zip, at + 32);
    const auto local = little<std::uint32_t>(zip, at + 42);
    std::string name(zip.data() + at + 46, name_length);
    const std::size_t data = local + 30u + little<std::uint16_t>(zip, local + 26) +
                             little<std::uint16_t>(zip, local + 28);
    if (data + packed > zip.size()) throw std::runtime_error("npz: cut member " + name);
    const std::vector<char> member =
        method == 0 ? std::vector<char>(zip.begin() + static_cast<std::ptrdiff_t>(data),
                                        zip.begin() + static_cast<std::ptrdiff_t>(data + plain))
                    : inflate_raw(zip.data() + data, packed, plain);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    out.emplace(name, parse_npy(member));
    at += 46u + name_length + extra + comment;
  }
  return out;
}

}  // namespace attnscope::testing
