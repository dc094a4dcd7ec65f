#include <zlib.h>

#include <algorithm>
#include <new>

#include "attnscope/support/error.h"
#include "deflate.h"

namespace attnscope::storage_detail {
namespace {

// Z_RLE looks for runs only: on shuffled floats as small as level 1, and faster.
class ZlibEngine final : public DeflateEngine {
 public:
  ZlibEngine() {
    if (deflateInit2(&stream_, 1, Z_DEFLATED, 15, 9, Z_RLE) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibEngine() override { deflateEnd(&stream_); }
  ZlibEngine(const ZlibEngine&) = delete;
  ZlibEngine& operator=(const ZlibEngine&) = delete;

  std::size_t deflate(std::span<const std::byte> data, std::size_t plane_bytes,
                      std::span<std::byte> out) override {
    deflateReset(&stream_);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    for (std::size_t at = 0; at < data.size(); at += plane_bytes) {
      const std::size_t bytes = std::min(plane_bytes, data.size() - at);
      const bool last = at + bytes == data.size();
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data.data() + at));
      stream_.avail_in = static_cast<uInt>(bytes);
      const int status = ::deflate(&stream_, last ? Z_FINISH : Z_FULL_FLUSH);
      // A flush that fills the output exactly may not be complete.
      if (stream_.avail_out == 0 || status != (last ? Z_STREAM_END : Z_OK)) return 0;
    }
    return out.size() - stream_.avail_out;
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<DeflateEngine> make_zlib_engine() {
  return std::make_unique<ZlibEngine>();
}

}  // namespace attnscope::storage_detail
