#include "layer_names.h"

namespace attnscope {
namespace {

constexpr std::string_view kLayerMark = "{l}";

}  // namespace

std::string with_layer(std::string_view pattern, int layer) {
  std::string name(pattern);
  const std::string number = std::to_string(layer);
  for (std::size_t at = name.find(kLayerMark); at != std::string::npos;
       at = name.find(kLayerMark, at + number.size())) {
    name.replace(at, kLayerMark.size(), number);
  }
  return name;
}

std::vector<LayerName> expand_layers(std::string_view pattern, int layers) {
  if (pattern.find(kLayerMark) == std::string_view::npos) return {{-1, std::string(pattern)}};
  std::vector<LayerName> names;
  for (int l = 0; l < layers; ++l) names.push_back({l, with_layer(pattern, l)});
  return names;
}

}  // namespace attnscope
