#include "attnscope/probes/ablation_cells.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "attnscope/sites/selectors.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

UnitKind kind_of(UnitChoice unit) {
  switch (unit) {
    case UnitChoice::kv_group:
      return UnitKind::kv_group;
    case UnitChoice::mlp:
      return UnitKind::mlp;
    case UnitChoice::attention:
      return UnitKind::attention;
    case UnitChoice::neuron:
      return UnitKind::neuron;
    case UnitChoice::head:
    case UnitChoice::head_pos:
      break;
  }
  return UnitKind::head;
}

const AttentionSpec& attention_of(const ModelConfig& config, int layer) {
  return config.layers[static_cast<std::size_t>(layer)].attention;
}

// Entries of a mean [h d] or [f] that belong to a unit, whose heads follow each other; `axis` is
// that of the heads. A view: cells that differ in their position share one value, by which the
// sweep knows that they are alike.
at::Tensor entries(const at::Tensor& mean, const std::vector<int>& heads, std::int64_t axis) {
  if (heads.empty()) return mean;
  return mean.narrow(axis, heads.front(), static_cast<std::int64_t>(heads.size()));
}

bool in_layers(const UnitSet& set, const std::set<int>& layers) {
  return std::all_of(set.begin(), set.end(),
                     [&](const UnitId& unit) { return layers.contains(unit.layer); });
}

[[noreturn]] void fail_value(const UnitId& unit, const std::string& what,
                             const std::string& expected = "", const std::string& got = "") {
  throw Error(ErrorKind::input, "AB20",
              {.where = unit_name(unit), .what = what, .expected = expected, .got = got});
}

std::int64_t width_of(const UnitId& unit, const ModelConfig& config) {
  switch (unit.kind) {
    case UnitKind::head:
    case UnitKind::kv_group:
      return attention_of(config, unit.layer).d_head;
    case UnitKind::attention:
    case UnitKind::mlp:
      return config.d_model;
    case UnitKind::neuron:
      break;
  }
  return 1;
}

}  // namespace

UnitSite site_of(const UnitId& unit, const ModelConfig& config) {
  switch (unit.kind) {
    case UnitKind::head:
      return {{Site::z, unit.layer}, {unit.index}};
    case UnitKind::kv_group: {
      const AttentionSpec& attention = attention_of(config, unit.layer);
      const int per_group = attention.n_heads / attention.n_kv_heads;
      std::vector<int> heads(static_cast<std::size_t>(per_group));
      std::iota(heads.begin(), heads.end(), unit.index * per_group);
      return {{Site::z, unit.layer}, std::move(heads)};
    }
    case UnitKind::attention:
      return {{Site::attn_out, unit.layer}, {}};
    case UnitKind::mlp:
      return {{Site::mlp_out, unit.layer}, {}};
    case UnitKind::neuron:
      break;
  }
  return {{Site::mlp_post, unit.layer}, {unit.index}};
}

std::vector<Edit> ablation_edits(const UnitSet& set, AblationMethod method,
                                 const MethodValues& values, const ModelConfig& config) {
  std::vector<Edit> edits;
  for (const UnitId& unit : set) {
    const UnitSite site = site_of(unit, config);
    Edit edit = {.hook = site.hook, .operation = Operation::set, .heads = site.heads};
    if (unit.position >= 0) edit.q_positions = {unit.position};
    switch (method) {
      case AblationMethod::zero:
        edit.operation = Operation::zero;
        break;
      case AblationMethod::mean:
        edit.source = ValueSource::constant;
        edit.value = entries(values.means.all.at(site.hook), site.heads, 0);
        break;
      case AblationMethod::mean_pos:
        edit.source = ValueSource::by_position;
        edit.value = entries(values.means.by_position.at(site.hook), site.heads, 1);
        break;
      case AblationMethod::resample:
        edit.source = ValueSource::donor;
        break;
      case AblationMethod::vector:
        if (values.vector.numel() != width_of(unit, config)) {
          fail_value(unit, "the vector of --vector has another length than this unit's output",
                     std::to_string(width_of(unit, config)), std::to_string(values.vector.numel()));
        }
        edit.source = ValueSource::constant;
        edit.value = values.vector;
        break;
      case AblationMethod::optimal: {
        const auto found = values.optimal.find(unit_name(unit));
        if (found == values.optimal.end()) {
          throw Error(ErrorKind::internal, "AB90", {.what = "a constant that was not fitted"});
        }
        edit.source = ValueSource::constant;
        edit.value = found->second;
        break;
      }
    }
    edits.push_back(std::move(edit));
  }
  return edits;
}

std::vector<HookId> hooks_of(const std::vector<UnitSet>& sets, const ModelConfig& config) {
  std::set<HookId> hooks;
  for (const UnitSet& set : sets) {
    for (const UnitId& unit : set) hooks.insert(site_of(unit, config).hook);
  }
  return {hooks.begin(), hooks.end()};
}

std::vector<UnitSet> select_units(const AblateSpec& spec, const ModelConfig& config,
                                  const UnitSizes& sizes) {
  const UnitKind kind = kind_of(spec.unit);
  const std::string& list = spec.unit == UnitChoice::neuron ? spec.neurons : spec.heads;
  const std::string option = spec.unit == UnitChoice::neuron ? "--neurons" : "--heads";
  std::vector<UnitSet> sets =
      list.empty() ? all_units(kind, sizes) : parse_unit_sets(list, sizes, kind, option);
  if (!spec.layers.empty()) {
    const std::vector<int> chosen = parse_ranges(spec.layers, config.n_layers, "--layers");
    const std::set<int> layers(chosen.begin(), chosen.end());
    std::erase_if(sets, [&](const UnitSet& set) { return !in_layers(set, layers); });
  }
  if (sets.empty()) {
    throw Error(ErrorKind::input, "AB21",
                {.where = option,
                 .what = "no unit is left to switch off",
                 .next = "see --layers, --heads and `attnscope inspect`"});
  }
  return sets;
}

}  // namespace attnscope
