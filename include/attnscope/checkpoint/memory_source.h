// File: memory_source.h
// Named arrays in memory, for models that are built in code.
//
// Example:
//   auto weights = std::make_shared<MemoryTensorSource>();
//   weights->add("embed", {4, 2}, std::vector<float>{…});
//   Checkpoint checkpoint{.config = config, .map = map, .tensors = weights};
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

class MemoryTensorSource final : public TensorSource {
 public:
  // Throws (exit 1) when the number of values is not the product of `shape` or the name is taken.
  void add(const std::string& name, const std::vector<std::int64_t>& shape,
           const std::vector<float>& values);
  void add(const std::string& name, const std::vector<std::int64_t>& shape,
           const std::vector<double>& values);

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const TensorInfo* find(const std::string& name) const override;
  void read_part(const TensorInfo& tensor, std::uint64_t offset, void* out,
                 std::uint64_t bytes) const override;

 private:
  void add_bytes(TensorInfo info, const void* values, std::size_t count);

  std::vector<TensorInfo> tensors_;
  std::vector<std::vector<char>> bytes_;  // parallel to tensors_
  std::unordered_map<std::string, std::size_t> by_name_;
};

// Binds every role of `roles` to the tensor of that name in `weights`, in canonical layout with
// the shape the configuration implies; "{l}" in a name stands for the layer.
struct RoleName {
  Role role{};
  std::string name;
};
TensorMap bind_by_name(const ModelConfig& config, const std::vector<RoleName>& roles);

}  // namespace attnscope
