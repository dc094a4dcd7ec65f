#include "line_reader.h"

#include <algorithm>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(const std::string& path, std::uint64_t max_line_bytes)
    : file_(path, "PR01"), max_line_bytes_(max_line_bytes) {
  if (fill() && buffer_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
}

bool LineReader::fill() {
  const std::uint64_t bytes = std::min(kPiece, file_.size() - offset_);
  if (bytes == 0) return false;
  buffer_.erase(0, position_);
  position_ = 0;
  const std::size_t old = buffer_.size();
  buffer_.resize(old + static_cast<std::size_t>(bytes));
  file_.read(offset_, buffer_.data() + old, static_cast<std::size_t>(bytes));
  offset_ += bytes;
  return true;
}

bool LineReader::next(std::string& line) {
  std::size_t searched = position_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line.assign(buffer_, position_, end - position_);
      position_ = end + 1;
      ++line_number_;
      return true;
    }
    if (buffer_.size() - position_ > max_line_bytes_) {
      throw Error(ErrorKind::limit, "PR01",
                  {.where = escape_untrusted(file_.path(), 4096),
                   .what = "line " + std::to_string(line_number_ + 1) + " is too long",
                   .expected = "at most " + format_bytes(max_line_bytes_)});
    }
    const std::size_t pending = buffer_.size() - position_;
    if (!fill()) {
      if (pending == 0) return false;
      line.assign(buffer_, position_, pending);
      position_ = buffer_.size();
      ++line_number_;
      return true;
    }
    searched = pending;
  }
}

}  // namespace attnscope
