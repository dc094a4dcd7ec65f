// File: ablation_cells.h
// From units and methods to the cells of a sweep.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/probes/reference_means.h"
#include "attnscope/probes/sweep.h"
#include "attnscope/sites/units.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// The place where a unit's output is changed: z of a head or of all query heads of a kv group, the
// outputs of attention and MLP, one entry of mlp_post.
struct UnitSite {
  HookId hook;
  std::vector<int> heads;  // as Intervention::heads; empty = the whole site
};
UnitSite site_of(const UnitId& unit, const ModelConfig& config);

// What a method needs besides the model: means of the sites, the vector of --vector.
struct MethodValues {
  ReferenceMeans means;
  at::Tensor vector;                          // [d]
  std::map<std::string, at::Tensor> optimal;  // by the unit's name
};

// The edits that switch a set of units off. Throws Error AB2n (exit 2) where a value does not fit.
std::vector<Edit> ablation_edits(const UnitSet& set, AblationMethod method,
                                 const MethodValues& values, const ModelConfig& config);

// Hooks of all units of the sets.
std::vector<HookId> hooks_of(const std::vector<UnitSet>& sets, const ModelConfig& config);

// The units that an ablation switches off, one set a cell; positions of --positions are not theirs
// yet.
std::vector<UnitSet> select_units(const AblateSpec& spec, const ModelConfig& config,
                                  const UnitSizes& sizes);

}  // namespace attnscope
