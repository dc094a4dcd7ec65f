#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <vector>

#include "deflate.h"

namespace attnscope::storage_detail {
namespace {

class IsalEngine final : public DeflateEngine {
 public:
  IsalEngine() : level_buffer_(ISAL_DEF_LVL1_DEFAULT) {}

  std::size_t deflate(std::span<const std::byte> data, std::size_t plane_bytes,
                      std::span<std::byte> out) override {
    // isal_deflate_init keeps hash tables of the stream before, which then change what is matched.
    stream_ = {};
    std::fill(level_buffer_.begin(), level_buffer_.end(), std::uint8_t{0});
    isal_deflate_init(&stream_);
    stream_.level = 1;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_ZLIB;
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = static_cast<std::uint32_t>(out.size());
    for (std::size_t at = 0; at < data.size(); at += plane_bytes) {
      const std::size_t bytes = std::min(plane_bytes, data.size() - at);
      const bool last = at + bytes == data.size();
      stream_.next_in =
          const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(data.data() + at));
      stream_.avail_in = static_cast<std::uint32_t>(bytes);
      stream_.flush = last ? NO_FLUSH : FULL_FLUSH;
      stream_.end_of_stream = last ? 1 : 0;
      if (isal_deflate(&stream_) != COMP_OK || stream_.avail_in != 0 || stream_.avail_out == 0) {
        return 0;
      }
    }
    return stream_.internal_state.state == ZSTATE_END ? out.size() - stream_.avail_out : 0;
  }

 private:
  isal_zstream stream_{};
  std::vector<std::uint8_t> level_buffer_;
};

}  // namespace

std::unique_ptr<DeflateEngine> make_isal_engine() {
  return std::make_unique<IsalEngine>();
}

}  // namespace attnscope::storage_detail
