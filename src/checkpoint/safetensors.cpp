#include "attnscope/checkpoint/safetensors.h"

#include <array>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "tensor_part.h"

namespace attnscope {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

std::uint64_t little_endian(const std::array<unsigned char, kLengthBytes>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

std::uint64_t header_length(const InputFile& file, const std::string& where) {
  const auto fail = [&](const char* code, const std::string& what, const std::string& expected,
                        const std::string& got) {
    throw Error(ErrorKind::input, code,
                {.where = where, .what = what, .expected = expected, .got = got});
  };
  if (file.size() < kLengthBytes) {
    fail("ST01", "shorter than 8 bytes", "a safetensors file", format_bytes(file.size()));
  }
  std::array<unsigned char, kLengthBytes> prefix{};
  file.read(0, prefix.data(), prefix.size());
  const std::uint64_t length = little_endian(prefix);
  if (length > SafetensorsLimits::kHeaderBytes) {
    fail("ST03", "the header's length",
         "at most " + std::to_string(SafetensorsLimits::kHeaderBytes), std::to_string(length));
  }
  if (length > file.size() - kLengthBytes) {
    fail("ST02", "the header is longer than the file",
         std::to_string(length) + " bytes after the first 8",
         std::to_string(file.size() - kLengthBytes));
  }
  return length;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path, "ST22") {
  const std::string where = escape_untrusted(path, 4096);
  const std::uint64_t length = header_length(file_, where);
  std::string header(static_cast<std::size_t>(length), '\0');
  file_.read(kLengthBytes, header.data(), header.size());
  data_begin_ = kLengthBytes + length;
  tensors_ = parse_safetensors_header(header, file_.size() - data_begin_, where);
}

void SafetensorsFile::read(const StoredTensor& tensor, std::uint64_t offset, void* out,
                           std::uint64_t bytes) const {
  file_.read(data_begin_ + tensor.offset + offset, out, static_cast<std::size_t>(bytes));
}

SafetensorsSource::SafetensorsSource(const std::vector<std::string>& paths) {
  files_.reserve(paths.size());
  for (const std::string& path : paths) files_.emplace_back(path);
  for (std::size_t f = 0; f < files_.size(); ++f) {
    const std::vector<StoredTensor>& stored = files_[f].tensors();
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const TensorInfo& info = stored[i].info;
      const auto [place, inserted] = by_name_.emplace(info.name, tensors_.size());
      if (!inserted) {
        throw Error(ErrorKind::input, "IX05",
                    {.where = escape_untrusted(files_[f].path(), 4096),
                     .what = "tensor " + quote(info.name) + " is stored twice",
                     .got = "also in " + escape_untrusted(file_of(info.name), 4096)});
      }
      tensors_.push_back(info);
      places_.push_back({f, i});
    }
  }
}

const TensorInfo* SafetensorsSource::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tensors_[it->second];
}

const std::string& SafetensorsSource::file_of(const std::string& name) const {
  return files_[places_[by_name_.at(name)].file].path();
}

void SafetensorsSource::read_part(const TensorInfo& tensor, std::uint64_t offset, void* out,
                                  std::uint64_t bytes) const {
  const auto it = by_name_.find(tensor.name);
  if (it == by_name_.end() || !holds_part(tensors_[it->second], offset, bytes)) {
    throw Error(ErrorKind::internal, "ST23",
                {.where = quote(tensor.name),
                 .what = "asked for a tensor or a size that the file does not have"});
  }
  const Place place = places_[it->second];
  const SafetensorsFile& file = files_[place.file];
  file.read(file.tensors()[place.index], offset, out, bytes);
}

}  // namespace attnscope
