// Values in memory.
#include <algorithm>
#include <cstring>

#include "attnscope/support/error.h"
#include "reader_state.h"

namespace attnscope {
namespace {

template <typename To, typename From>
std::vector<To> converted(const std::vector<std::byte>& data) {
  std::vector<From> values(data.size() / sizeof(From));
  if (!values.empty()) std::memcpy(values.data(), data.data(), values.size() * sizeof(From));
  std::vector<To> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(),
                 [](From value) { return static_cast<To>(value); });
  return out;
}

template <typename To>
std::vector<To> halves(const std::vector<std::byte>& data) {
  std::vector<To> out;
  for (const std::uint16_t bits : converted<std::uint16_t, std::uint16_t>(data)) {
    out.push_back(static_cast<To>(from_half(bits)));
  }
  return out;
}

template <typename To>
std::vector<To> as(const Array& array) {
  switch (array.dtype) {
    case DType::f16:
      return halves<To>(array.data);
    case DType::f32:
      return converted<To, float>(array.data);
    case DType::f64:
      return converted<To, double>(array.data);
    case DType::i8:
      return converted<To, std::int8_t>(array.data);
    case DType::i32:
      return converted<To, std::int32_t>(array.data);
    case DType::i64:
      return converted<To, std::int64_t>(array.data);
    case DType::u8:
      return converted<To, std::uint8_t>(array.data);
    case DType::i16:
    case DType::bf16:
    case DType::boolean:
      break;
  }
  throw Error(ErrorKind::internal, "SR08",
              {.what = std::string("files hold no ") + dtype_name(array.dtype)});
}

DType dtype_of(const h5::Dataset& dataset) {
  switch (dataset.type().scalar) {
    case h5::Scalar::f16:
      return DType::f16;
    case h5::Scalar::f32:
      return DType::f32;
    case h5::Scalar::f64:
      return DType::f64;
    case h5::Scalar::i8:
      return DType::i8;
    case h5::Scalar::i32:
      return DType::i32;
    case h5::Scalar::i64:
      return DType::i64;
    case h5::Scalar::u8:
    case h5::Scalar::text:
      break;
  }
  return DType::u8;
}

// A file can claim any size without storing it.
constexpr std::uint64_t kMaxReadBytes = 64ULL << 30U;

std::size_t bytes_of(const h5::Dataset& dataset, const h5::Dims& extent) {
  std::uint64_t bytes = dataset.type().bytes;
  for (const std::uint64_t n : extent) {
    if (n != 0 && bytes > kMaxReadBytes / n) {
      throw Error(ErrorKind::limit, "SR09",
                  {.where = dataset.path(),
                   .what = "the dataset is too large to be read whole",
                   .expected = "at most 64 GiB",
                   .got = "more",
                   .next = "read a part of it"});
    }
    bytes *= n;
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

std::int64_t Array::count() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

std::vector<double> Array::as_double() const {
  return as<double>(*this);
}
std::vector<float> Array::as_float() const {
  return as<float>(*this);
}

TensorView Array::view() const {
  TensorView view{.data = data.data(), .dtype = dtype, .rank = static_cast<int>(shape.size())};
  std::int64_t stride = 1;
  for (std::size_t a = shape.size(); a-- > 0;) {
    view.shape[a] = shape[a];
    view.strides[a] = stride;
    stride *= shape[a];
  }
  return view;
}

namespace storage_detail {

Array read_all(const h5::Dataset& dataset) {
  const h5::Dims dims = dataset.dims();
  Array out{.dtype = dtype_of(dataset), .shape = {dims.begin(), dims.end()}};
  out.data.resize(bytes_of(dataset, dims));
  dataset.read(out.data.data());
  return out;
}

Array read_part(const h5::Dataset& dataset, const h5::Slab& slab) {
  Array out{.dtype = dtype_of(dataset), .shape = {slab.extent.begin(), slab.extent.end()}};
  out.data.resize(bytes_of(dataset, slab.extent));
  if (!out.data.empty()) dataset.read(slab, out.data.data());
  return out;
}

std::vector<std::int64_t> read_integers(const h5::Dataset& dataset) {
  return converted<std::int64_t, std::int64_t>(
      dataset.type().scalar == h5::Scalar::i64 ? read_all(dataset).data : std::vector<std::byte>{});
}

std::vector<std::string> read_texts(const h5::Dataset& dataset, std::optional<h5::Slab> slab) {
  if (dataset.type().scalar != h5::Scalar::text) return {};
  const std::size_t width = dataset.type().bytes;
  const h5::Dims extent = slab ? slab->extent : dataset.dims();
  std::vector<std::byte> data(bytes_of(dataset, extent));
  if (slab && !data.empty()) {
    dataset.read(*slab, data.data());
  } else if (!data.empty()) {
    dataset.read(data.data());
  }
  std::vector<std::string> out;
  for (std::size_t at = 0; at + width <= data.size(); at += width) {
    std::string text(reinterpret_cast<const char*>(data.data()) + at, width);
    text.erase(text.find_last_not_of('\0') + 1);
    out.push_back(std::move(text));
  }
  return out;
}

Subset read_subset(const h5::Object& object) {
  return {.heads = object.integers("heads"),
          .q_positions = object.integers("q_positions"),
          .k_positions = object.integers("k_positions")};
}

}  // namespace storage_detail
}  // namespace attnscope
