// File: table.h
// Datasets that are not attention maps: how they are chunked, written whole or block by block
// along their first axis, and sealed with their checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/storage/codec.h"
#include "attnscope/storage/h5.h"

namespace attnscope::storage_detail {

// The attributes that every dataset has.
struct Labels {
  std::string site;  // "attn.hook_z", or the group's noun: "tokens", "prompts", …
  int layer = -1;
  std::vector<std::string> dims;  // one name an axis
};

enum class Packing : std::uint8_t {
  raw,  // activations: their mantissas are noise, deflate gains a seventh for five times the time
  deflated,  // chunks of at most 256 KiB, unless the whole is small
};

struct TableSpec {
  h5::Type type;
  h5::Dims dims;
  Packing packing = Packing::deflated;
  // Written one index of the first axis at a time, so no chunk may span two of them.
  bool by_block = false;
  h5::Prefill prefill = h5::Prefill::yes;
};

h5::Dataset create_table(h5::Group& group, const std::string& name, const TableSpec& spec,
                         const Labels& labels);

// The whole dataset, or block `index` of the first axis; `raw` holds exactly its values.
void write_table(h5::Dataset& table, std::span<const std::byte> raw, ChunkCompressor& compressor);
void write_block(h5::Dataset& table, std::uint64_t index, std::span<const std::byte> raw,
                 ChunkCompressor& compressor);

void set_labels(h5::Dataset& dataset, const Labels& labels);
// Writes the attribute sha256; the dataset must be complete.
void seal(h5::Dataset& dataset);

// A table written in one go and sealed.
void put_table(h5::Group& group, const std::string& name, const TableSpec& spec,
               const Labels& labels, std::span<const std::byte> raw, ChunkCompressor& compressor);

// One text without limit on its length.
void put_text(h5::Group& group, const std::string& name, const std::string& text,
              const std::string& site);
// Texts padded with NUL to the longest, [size of texts].
void put_texts(h5::Group& group, const std::string& name, const std::vector<std::string>& texts,
               const Labels& labels, ChunkCompressor& compressor);

// Texts padded with NUL to `width` bytes each.
std::vector<std::byte> pad_texts(const std::vector<std::string>& texts, std::size_t width);
std::size_t longest(const std::vector<std::string>& texts);  // at least 1

}  // namespace attnscope::storage_detail
