// File: deflate.h
// One zlib stream out of byte planes, by the deflaters that were built in.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "attnscope/storage/codec.h"

namespace attnscope::storage_detail {

// Holds a deflater's working memory between chunks. No output depends on earlier input.
class DeflateEngine {
 public:
  virtual ~DeflateEngine() = default;
  // Deflates `data`, cut into planes of `plane_bytes`, into `out`. Returns the bytes written, or 0
  // when they do not fit.
  virtual std::size_t deflate(std::span<const std::byte> data, std::size_t plane_bytes,
                              std::span<std::byte> out) = 0;
};

std::unique_ptr<DeflateEngine> make_zlib_engine();
// Null when not built in.
std::unique_ptr<DeflateEngine> make_isal_engine();
std::unique_ptr<DeflateEngine> make_libdeflate_engine();

}  // namespace attnscope::storage_detail
