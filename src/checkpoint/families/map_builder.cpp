#include "map_builder.h"

#include "layer_names.h"

namespace attnscope {

MapBuilder& MapBuilder::add_at(int layer, Role role, const std::string& name, Layout layout) {
  map_.bindings.push_back({.role = role,
                           .layer = layer,
                           .name = name,
                           .shape = file_shape(config_, role, layer, layout),
                           .layout = layout});
  return *this;
}

MapBuilder& MapBuilder::add(Role role, std::string_view name, Layout layout) {
  for (const LayerName& place : expand_layers(name, config_.n_distinct_layers)) {
    add_at(place.layer, role, place.name, layout);
  }
  return *this;
}

MapBuilder& MapBuilder::add_pair(Role weight, Role bias, const std::string& stem, Layout layout) {
  return add(weight, stem + ".weight", layout).add(bias, stem + ".bias");
}

MapBuilder& MapBuilder::unused(const std::string& glob, const std::string& reason) {
  map_.unused.push_back({glob, reason});
  return *this;
}

MapBuilder& MapBuilder::twin(const std::string& name, const std::string& same_as) {
  map_.twins.push_back({name, same_as});
  return *this;
}

}  // namespace attnscope
