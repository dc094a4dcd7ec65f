#include "table.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope::storage_detail {
namespace {

constexpr std::uint64_t kContiguousBytes = 64U << 10U;
constexpr std::uint64_t kChunkBytes = 256U << 10U;

std::uint64_t product(const h5::Dims& dims) {
  std::uint64_t n = 1;
  for (const std::uint64_t extent : dims) n *= extent;
  return n;
}

// The largest trailing block of at most kChunkBytes.
h5::Dims chunk_of(const TableSpec& spec) {
  h5::Dims chunk = spec.dims;
  if (spec.by_block) chunk.front() = 1;
  for (std::uint64_t& extent : chunk) {
    const std::uint64_t rest = product(chunk) / extent * spec.type.bytes;
    extent = std::clamp<std::uint64_t>(kChunkBytes / rest, 1, extent);
  }
  return chunk;
}

// A padding value for the part of an edge chunk outside the dataset: what the fill value is.
void fill_padding(std::vector<std::byte>& buffer, const h5::Type& type) {
  if (type.scalar == h5::Scalar::f32) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < buffer.size(); i += 4) std::memcpy(&buffer[i], &nan, 4);
  } else if (type.scalar == h5::Scalar::f64) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < buffer.size(); i += 8) std::memcpy(&buffer[i], &nan, 8);
  } else {
    std::fill(buffer.begin(), buffer.end(), std::byte{0});
  }
}

// Copies the part of the row-major array `from` (shape `dims`) that starts at `at` and has `extent`
// into `to`, a row-major array of shape `chunk`, from axis `axis` on.
struct Gather {
  const h5::Dims& dims;
  const h5::Dims& chunk;
  const h5::Dims& at;
  const h5::Dims& extent;
  std::size_t value_bytes;

  void copy(std::size_t axis, const std::byte* from, std::byte* to) const {
    if (axis + 1 == dims.size()) {
      std::memcpy(to, from + at[axis] * value_bytes, extent[axis] * value_bytes);
      return;
    }
    std::uint64_t from_stride = value_bytes;
    std::uint64_t to_stride = value_bytes;
    for (std::size_t a = axis + 1; a < dims.size(); ++a) {
      from_stride *= dims[a];
      to_stride *= chunk[a];
    }
    for (std::uint64_t i = 0; i < extent[axis]; ++i) {
      copy(axis + 1, from + (at[axis] + i) * from_stride, to + i * to_stride);
    }
  }
};

// Chunks of the region that begins at `first` of the first axis and whose values are `raw` with
// shape `region`.
void write_chunks(h5::Dataset& table, std::uint64_t first, const h5::Dims& region,
                  std::span<const std::byte> raw, ChunkCompressor& compressor) {
  const h5::Type type = table.type();
  const h5::Dims chunk = table.chunk();
  std::vector<std::byte> buffer(product(chunk) * type.bytes);
  h5::Dims at(region.size(), 0);
  while (at[0] < region[0]) {
    h5::Dims extent(region.size());
    for (std::size_t a = 0; a < region.size(); ++a) {
      extent[a] = std::min(chunk[a], region[a] - at[a]);
    }
    if (extent != chunk) fill_padding(buffer, type);
    Gather{region, chunk, at, extent, type.bytes}.copy(0, raw.data(), buffer.data());
    const StoredChunk stored = type.scalar == h5::Scalar::text
                                   ? compressor.compress_text(buffer)
                                   : compressor.compress(buffer, type.bytes);
    h5::Dims offset = at;
    offset[0] += first;
    table.write_chunk(offset, stored.filter_mask, stored.bytes);
    for (std::size_t a = region.size(); a-- > 0;) {
      at[a] += chunk[a];
      if (at[a] < region[a] || a == 0) break;
      at[a] = 0;
    }
  }
}

}  // namespace

h5::Dataset create_table(h5::Group& group, const std::string& name, const TableSpec& spec,
                         const Labels& labels) {
  h5::DatasetSpec dataset{.type = spec.type, .dims = spec.dims, .prefill = spec.prefill};
  const std::uint64_t bytes = product(spec.dims) * spec.type.bytes;
  const bool fits_chunk = spec.type.bytes <= h5::kMaxChunkBytes / 2;
  if (spec.packing == Packing::deflated && fits_chunk && bytes > kContiguousBytes) {
    dataset.chunk = chunk_of(spec);
    dataset.filters =
        spec.type.scalar == h5::Scalar::text ? h5::Filters::deflate : h5::Filters::shuffle_deflate;
  }
  h5::Dataset table = group.create_dataset(name, dataset);
  set_labels(table, labels);
  return table;
}

void write_table(h5::Dataset& table, std::span<const std::byte> raw, ChunkCompressor& compressor) {
  if (table.chunk().empty()) {
    table.write(raw.data());
  } else {
    write_chunks(table, 0, table.dims(), raw, compressor);
  }
}

void write_block(h5::Dataset& table, std::uint64_t index, std::span<const std::byte> raw,
                 ChunkCompressor& compressor) {
  h5::Dims region = table.dims();
  region[0] = 1;
  if (product(region) == 0) return;
  if (table.chunk().empty()) {
    h5::Dims offset(region.size(), 0);
    offset[0] = index;
    table.write({.offset = offset, .extent = region}, raw.data());
  } else {
    write_chunks(table, index, region, raw, compressor);
  }
}

void set_labels(h5::Dataset& dataset, const Labels& labels) {
  dataset.set_text("site", labels.site);
  dataset.set_integer("layer", labels.layer);
  dataset.set_text("dims", join(labels.dims, " "));
  dataset.set_labels(labels.dims);
}

void seal(h5::Dataset& dataset) {
  dataset.set_text("sha256", dataset.sha256());
}

void put_table(h5::Group& group, const std::string& name, const TableSpec& spec,
               const Labels& labels, std::span<const std::byte> raw, ChunkCompressor& compressor) {
  if (raw.size() != product(spec.dims) * spec.type.bytes) {
    throw Error(ErrorKind::internal, "SW01",
                {.where = name,
                 .what = "the values do not fill the dataset",
                 .expected = std::to_string(product(spec.dims) * spec.type.bytes) + " bytes",
                 .got = std::to_string(raw.size())});
  }
  h5::Dataset table = create_table(group, name, spec, labels);
  write_table(table, raw, compressor);
  seal(table);
}

void put_text(h5::Group& group, const std::string& name, const std::string& text,
              const std::string& site) {
  const std::size_t width = std::max<std::size_t>(1, text.size());
  h5::Dataset dataset = create_table(
      group, name, {.type = h5::Type::text(width), .dims = {}, .packing = Packing::raw},
      {.site = site, .layer = -1, .dims = {}});
  dataset.write(pad_texts({text}, width).data());
  seal(dataset);
}

void put_texts(h5::Group& group, const std::string& name, const std::vector<std::string>& texts,
               const Labels& labels, ChunkCompressor& compressor) {
  const std::size_t width = longest(texts);
  put_table(group, name, {.type = h5::Type::text(width), .dims = {texts.size()}}, labels,
            pad_texts(texts, width), compressor);
}

std::vector<std::byte> pad_texts(const std::vector<std::string>& texts, std::size_t width) {
  std::vector<std::byte> out(texts.size() * width);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::memcpy(&out[i * width], texts[i].data(), std::min(width, texts[i].size()));
  }
  return out;
}

std::size_t longest(const std::vector<std::string>& texts) {
  std::size_t width = 1;
  for (const std::string& text : texts) width = std::max(width, text.size());
  return width;
}

}  // namespace attnscope::storage_detail
