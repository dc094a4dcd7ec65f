// Datasets.
#include <algorithm>
#include <array>

#include "attnscope/support/error.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/utf8.h"
#include "h5_detail.h"

namespace attnscope::h5 {
namespace {

constexpr std::uint64_t kMaxComparedBytes = 64ULL << 20U;

// A hostile file may claim more chunks than could be visited in a lifetime.
constexpr std::uint64_t kMaxChunks = 1ULL << 24U;
constexpr std::uint64_t kMaxValues = 1ULL << 42U;
constexpr std::uint64_t kReadBlockBytes = 4ULL << 20U;

std::optional<Type> known_type(Id type) {
  for (const Scalar scalar :
       {Scalar::f32, Scalar::i32, Scalar::i64, Scalar::u8, Scalar::f64, Scalar::f16, Scalar::i8}) {
    if (H5Tequal(type, make_type(Type::of(scalar)).get()) > 0) return Type::of(scalar);
  }
  if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0) {
    return Type::text(H5Tget_size(type));
  }
  return std::nullopt;
}

struct Selection {
  Handle memory;
  Handle file;
};

}  // namespace

Dataset::Dataset(Handle handle, std::shared_ptr<Context> context, std::string path)
    : Object(std::move(handle), std::move(context), std::move(path)) {}

Type Dataset::type() const {
  prepare_library();
  const Handle type = own_type(H5Dget_type(id()));
  const auto known = type.get() < 0 ? std::nullopt : known_type(type.get());
  if (!known) {
    refuse(*context_, path_, "the values have a type that attnscope does not write",
           "16-, 32- or 64-bit floats, integers, or text of fixed length", "another type");
  }
  return *known;
}

Dims Dataset::dims() const {
  prepare_library();
  const Handle space = own_space(H5Dget_space(id()));
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0) fail("H503", "cannot read the shape of");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  return {dims.begin(), dims.end()};
}

Dims Dataset::chunk() const {
  prepare_library();
  const Handle creation = own_plist(H5Dget_create_plist(id()));
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return {};
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const int rank = H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.data());
  if (rank < 0) fail("H503", "cannot read the chunk shape of");
  return {chunk.begin(), chunk.begin() + rank};
}

std::uint64_t Dataset::count() const {
  std::uint64_t n = 1;
  for (const std::uint64_t extent : dims()) {
    if (extent != 0 && n > kMaxValues / extent) {
      refuse(*context_, path_, "the dataset is too large", "at most 2^42 values", "more");
    }
    n *= extent;
  }
  return n;
}

void Dataset::write(const void* data) {
  if (count() == 0) return;
  const Handle memory = make_type(type());
  if (H5Dwrite(id(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
    fail("H504", "cannot write dataset");
  }
}

// As the first of many values it would be shown as if nothing were wrong.
void Dataset::require_undamaged() const {
  if (!context_->compared || !context_->compared->insert(path_).second) return;
  const auto expected = text("sha256");
  if (!expected || count() > kMaxComparedBytes / std::max<std::size_t>(1, type().bytes)) return;
  const std::string got = sha256();
  if (got == *expected) return;
  throw Error(ErrorKind::input, "H509",
              {.where = escape_untrusted(context_->path, 4096),
               .what = quote(path_, 300) + " is damaged: the SHA-256 of its values differs",
               .expected = escape_untrusted(*expected, 100),
               .got = got,
               .next = "`attnscope verify` lists everything that is damaged"});
}

void Dataset::read(void* data) const {
  if (count() == 0) return;
  require_undamaged();
  const Handle memory = make_type(type());
  if (H5Dread(id(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
    fail("H503", "cannot read dataset");
  }
}

namespace {

Selection select(Id dataset, const Slab& slab) {
  const std::vector<hsize_t> offset(slab.offset.begin(), slab.offset.end());
  const std::vector<hsize_t> extent(slab.extent.begin(), slab.extent.end());
  Selection out{.memory = own_space(
                    H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr)),
                .file = own_space(H5Dget_space(dataset))};
  H5Sselect_hyperslab(out.file.get(), H5S_SELECT_SET, offset.data(), nullptr, extent.data(),
                      nullptr);
  return out;
}

}  // namespace

void Dataset::write(const Slab& slab, const void* data) {
  const Handle memory = make_type(type());
  const Selection part = select(id(), slab);
  if (H5Dwrite(id(), memory.get(), part.memory.get(), part.file.get(), H5P_DEFAULT, data) < 0) {
    fail("H504", "cannot write dataset");
  }
}

void Dataset::read(const Slab& slab, void* data) const {
  require_undamaged();
  const Handle memory = make_type(type());
  const Selection part = select(id(), slab);
  if (H5Dread(id(), memory.get(), part.memory.get(), part.file.get(), H5P_DEFAULT, data) < 0) {
    fail("H503", "cannot read dataset");
  }
}

void Dataset::write_chunk(const Dims& offset, std::uint32_t filter_mask,
                          std::span<const std::byte> data) {
  prepare_library();
  const std::vector<hsize_t> at(offset.begin(), offset.end());
  if (H5Dwrite_chunk(id(), H5P_DEFAULT, filter_mask, at.data(), data.size(), data.data()) < 0) {
    fail("H504", "cannot write a chunk of");
  }
}

std::uint64_t Dataset::chunk_bytes(const Dims& offset) const {
  prepare_library();
  const std::vector<hsize_t> at(offset.begin(), offset.end());
  hsize_t bytes = 0;
  if (H5Dget_chunk_storage_size(id(), at.data(), &bytes) < 0) {
    // HDF5 1.10 has no other way to say that a chunk is absent; later versions give 0.
    if (take_error() == "chunk storage is not allocated") return 0;
    refuse(*context_, path_, "a chunk cannot be found", "a whole chunk index", "a damaged one");
  }
  return bytes;
}

std::uint32_t Dataset::read_chunk(const Dims& offset, std::span<std::byte> data) const {
  prepare_library();
  const std::vector<hsize_t> at(offset.begin(), offset.end());
  std::uint32_t filter_mask = 0;
  if (H5Dread_chunk(id(), H5P_DEFAULT, at.data(), &filter_mask, data.data()) < 0) {
    fail("H503", "cannot read a chunk of");
  }
  return filter_mask;
}

Filters Dataset::filters() const {
  prepare_library();
  const Handle creation = own_plist(H5Dget_create_plist(id()));
  std::vector<H5Z_filter_t> found;
  for (int i = 0; i < H5Pget_nfilters(creation.get()); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    unsigned config = 0;
    found.push_back(H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &values,
                                   nullptr, 0, nullptr, &config));
  }
  if (found.empty()) return Filters::none;
  if (found == std::vector<H5Z_filter_t>{H5Z_FILTER_DEFLATE}) return Filters::deflate;
  if (found == std::vector<H5Z_filter_t>{H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE}) {
    return Filters::shuffle_deflate;
  }
  refuse(*context_, path_, "filters that attnscope does not use together",
         "none, deflate, or shuffle and deflate", "others");
}

namespace {

// The stored chunks in index order.
void for_each_chunk(const Dataset& dataset, const std::function<void(StoredPart&)>& visit) {
  const Dims shape = dataset.dims();
  const Dims tile = dataset.chunk();
  std::uint64_t chunks = 1;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const std::uint64_t along = (shape[a] + tile[a] - 1) / tile[a];
    if (along != 0 && chunks > kMaxChunks / along) {
      throw Error(ErrorKind::input, "H507",
                  {.where = quote(dataset.path(), 300),
                   .what = "too many chunks",
                   .expected = "at most 2^24",
                   .got = "more"});
    }
    chunks *= along;
  }
  StoredPart part{.at = Dims(shape.size(), 0), .bytes = {}};
  Dims& at = part.at;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    if (const std::uint64_t bytes = dataset.chunk_bytes(at); bytes > 0) {
      if (bytes > 2 * kMaxChunkBytes) {
        throw Error(ErrorKind::input, "H507",
                    {.where = quote(dataset.path(), 300),
                     .what = "a stored chunk is too large",
                     .expected = "at most " + std::to_string(2 * kMaxChunkBytes) + " bytes",
                     .got = std::to_string(bytes)});
      }
      part.bytes.resize(bytes);
      part.filter_mask = dataset.read_chunk(at, part.bytes);
      visit(part);
    }
    for (std::size_t a = shape.size(); a-- > 0;) {
      at[a] += tile[a];
      if (at[a] < shape[a]) break;
      at[a] = 0;
    }
  }
}

}  // namespace

void Dataset::for_each_stored_part(const std::function<void(StoredPart&)>& visit) const {
  const Dims shape = dims();
  const std::uint64_t values = count();
  if (values == 0) return;
  if (!chunk().empty()) return for_each_chunk(*this, visit);
  const std::size_t value_bytes = type().bytes;
  StoredPart part{.at = Dims(shape.size(), 0), .bytes = {}};
  if (shape.empty()) {
    part.bytes.resize(value_bytes);
    read(part.bytes.data());
    return visit(part);
  }
  const std::uint64_t row_bytes = values / shape[0] * value_bytes;
  const std::uint64_t rows = std::max<std::uint64_t>(1, kReadBlockBytes / row_bytes);
  Slab slab{.offset = Dims(shape.size(), 0), .extent = shape};
  for (std::uint64_t row = 0; row < shape[0]; row += rows) {
    slab.offset[0] = row;
    slab.extent[0] = std::min(rows, shape[0] - row);
    part.at[0] = row;
    part.bytes.resize(slab.extent[0] * row_bytes);
    read(slab, part.bytes.data());
    visit(part);
  }
}

std::string Dataset::sha256() const {
  Sha256 hash;
  for_each_stored_part(
      [&hash](const StoredPart& part) { hash.update(part.bytes.data(), part.bytes.size()); });
  return hash.finish();
}

}  // namespace attnscope::h5
