// File: map_builder.h
// Builds the tensor map of a family: one line a tensor, shapes from the configuration.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/checkpoint/tensor_map.h"

namespace attnscope {

class MapBuilder {
 public:
  explicit MapBuilder(const ModelConfig& config) : config_(config) {}

  // "{l}" in `name` stands for every distinct layer.
  MapBuilder& add(Role role, std::string_view name, Layout layout = Layout::canonical);
  // `stem`.weight as `weight` and `stem`.bias as `bias`.
  MapBuilder& add_pair(Role weight, Role bias, const std::string& stem,
                       Layout layout = Layout::canonical);
  // One tensor for one layer.
  MapBuilder& add_at(int layer, Role role, const std::string& name,
                     Layout layout = Layout::canonical);
  MapBuilder& unused(const std::string& glob, const std::string& reason);
  MapBuilder& twin(const std::string& name, const std::string& same_as);

  TensorMap take() { return std::move(map_); }

 private:
  const ModelConfig& config_;
  TensorMap map_;
};

}  // namespace attnscope
