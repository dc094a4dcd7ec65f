#include <libdeflate.h>

#include <new>

#include "deflate.h"

namespace attnscope::storage_detail {
namespace {

// The library has no flush, so the planes share one stream; it splits blocks by itself.
class LibdeflateEngine final : public DeflateEngine {
 public:
  LibdeflateEngine() : compressor_(libdeflate_alloc_compressor(1)) {
    if (compressor_ == nullptr) throw std::bad_alloc();
  }
  ~LibdeflateEngine() override { libdeflate_free_compressor(compressor_); }
  LibdeflateEngine(const LibdeflateEngine&) = delete;
  LibdeflateEngine& operator=(const LibdeflateEngine&) = delete;

  std::size_t deflate(std::span<const std::byte> data, std::size_t /*plane_bytes*/,
                      std::span<std::byte> out) override {
    return libdeflate_zlib_compress(compressor_, data.data(), data.size(), out.data(), out.size());
  }

 private:
  libdeflate_compressor* compressor_;
};

}  // namespace

std::unique_ptr<DeflateEngine> make_libdeflate_engine() {
  return std::make_unique<LibdeflateEngine>();
}

}  // namespace attnscope::storage_detail
