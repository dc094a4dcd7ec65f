// File: safetensors.h
// Strict reading of safetensors files: the header is parsed as a stream of events with bounded
// memory and checked completely before a byte of data is read. Data is read with pread only.
//
// Format: 8 bytes little-endian header length, a JSON object {name: {dtype, shape, data_offsets}},
// then the tensors' bytes, which must tile the rest of the file without hole, overlap or rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/support/file.h"

namespace attnscope {

struct SafetensorsLimits {
  static constexpr std::uint64_t kHeaderBytes = 100'000'000;
  static constexpr std::size_t kDepth = 3;
  static constexpr std::size_t kNameBytes = 512;
  static constexpr std::size_t kTensors = 200'000;
  static constexpr std::size_t kDims = 8;
};

// A tensor and where its bytes start, counted from the end of the header.
struct StoredTensor {
  TensorInfo info;
  std::uint64_t offset = 0;
};

// Parses and checks a header. `data_bytes` is what the file holds after the header; `where` is the
// file for messages. Errors: ST03 to ST21 (exit 2; exit 4 for too many tensors).
std::vector<StoredTensor> parse_safetensors_header(std::string_view header,
                                                   std::uint64_t data_bytes,
                                                   const std::string& where);

// One open file. Errors: ST01 shorter than its header, ST02 cut, ST22 cannot be opened or read.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // `bytes` bytes from byte `offset` of the tensor on.
  void read(const StoredTensor& tensor, std::uint64_t offset, void* out, std::uint64_t bytes) const;

 private:
  InputFile file_;
  std::uint64_t data_begin_ = 0;
  std::vector<StoredTensor> tensors_;
};

// The tensors of one or several files. A name that two files hold is an error (IX05).
class SafetensorsSource final : public TensorSource {
 public:
  explicit SafetensorsSource(const std::vector<std::string>& paths);

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const TensorInfo* find(const std::string& name) const override;
  void read_part(const TensorInfo& tensor, std::uint64_t offset, void* out,
                 std::uint64_t bytes) const override;
  // Path of the file that holds the tensor.
  const std::string& file_of(const std::string& name) const;

 private:
  struct Place {
    std::size_t file = 0;
    std::size_t index = 0;  // in the file's tensors
  };
  std::vector<SafetensorsFile> files_;
  std::vector<TensorInfo> tensors_;
  std::vector<Place> places_;  // parallel to tensors_
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace attnscope
