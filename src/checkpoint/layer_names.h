// File: layer_names.h
// Tensor names with "{l}" in the place of the layer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

struct LayerName {
  int layer = -1;
  std::string name;
};

// "h.{l}.ln_1" → h.0.ln_1, h.1.ln_1 …; a name without "{l}" gives itself with layer −1.
std::vector<LayerName> expand_layers(std::string_view pattern, int layers);

// The name with one number in the place of every "{l}".
std::string with_layer(std::string_view pattern, int layer);

}  // namespace attnscope
