#include "attnscope/checkpoint/memory_source.h"

#include <cstring>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "layer_names.h"
#include "shape_text.h"
#include "tensor_part.h"

namespace attnscope {

void MemoryTensorSource::add_bytes(TensorInfo info, const void* values, std::size_t count) {
  std::int64_t expected = 1;
  for (const std::int64_t n : info.shape) expected *= n;
  if (expected != static_cast<std::int64_t>(count)) {
    throw Error(ErrorKind::internal, "MS01",
                {.where = quote(info.name),
                 .what = "shape " + shape_text(info.shape),
                 .expected = std::to_string(expected) + " values",
                 .got = std::to_string(count)});
  }
  if (!by_name_.emplace(info.name, tensors_.size()).second) {
    throw Error(ErrorKind::internal, "MS02", {.where = quote(info.name), .what = "added twice"});
  }
  info.bytes = count * dtype_size(info.dtype);
  std::vector<char> bytes(static_cast<std::size_t>(info.bytes));
  if (!bytes.empty()) std::memcpy(bytes.data(), values, bytes.size());
  tensors_.push_back(std::move(info));
  bytes_.push_back(std::move(bytes));
}

void MemoryTensorSource::add(const std::string& name, const std::vector<std::int64_t>& shape,
                             const std::vector<float>& values) {
  add_bytes({.name = name, .dtype = DType::f32, .shape = shape}, values.data(), values.size());
}

void MemoryTensorSource::add(const std::string& name, const std::vector<std::int64_t>& shape,
                             const std::vector<double>& values) {
  add_bytes({.name = name, .dtype = DType::f64, .shape = shape}, values.data(), values.size());
}

const TensorInfo* MemoryTensorSource::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tensors_[it->second];
}

void MemoryTensorSource::read_part(const TensorInfo& tensor, std::uint64_t offset, void* out,
                                   std::uint64_t bytes) const {
  const auto it = by_name_.find(tensor.name);
  if (it == by_name_.end() || !holds_part(tensors_[it->second], offset, bytes)) {
    throw Error(
        ErrorKind::internal, "MS03",
        {.where = quote(tensor.name), .what = "asked for a tensor or a size that is not there"});
  }
  if (bytes > 0) {
    std::memcpy(out, bytes_[it->second].data() + offset, static_cast<std::size_t>(bytes));
  }
}

TensorMap bind_by_name(const ModelConfig& config, const std::vector<RoleName>& roles) {
  TensorMap map;
  for (const RoleName& role : roles) {
    for (const LayerName& place : expand_layers(role.name, config.n_distinct_layers)) {
      map.bindings.push_back({.role = role.role,
                              .layer = place.layer,
                              .name = place.name,
                              .shape = canonical_shape(config, role.role, place.layer)});
    }
  }
  return map;
}

}  // namespace attnscope
