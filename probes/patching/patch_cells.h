// File: patch_cells.h
// From the options of patch to the cells of a sweep.
#pragma once

#include <string>
#include <vector>

#include "attnscope/probes/experiment_run.h"
#include "attnscope/probes/sweep_run.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// What tells the cells of one site apart.
enum class PatchGrid : std::uint8_t { layer_position, layer_head, layer_head_position };
const char* patch_grid_name(PatchGrid grid);  // "layer,pos", …

// Sites that are patched over the same cells.
struct PatchGroup {
  std::string record_name;           // "patch", or "patch_layer_head" beside others
  std::vector<std::string> methods;  // names of the sites, or of the ways to cut an edge
  std::vector<CellPlace> places;     // of one method
  std::vector<Cell> cells;           // method after method
  // Edges: queries, over all prompts, that a knockout leaves without any key they see.
  std::int64_t rows_without_keys = 0;
};

// Sites of --site over the grids of --by. May add position sets to the prompts.
std::vector<PatchGroup> patch_groups(const PatchSpec& spec, const ExperimentInputs& inputs,
                                     const SiteInventory& sites, std::vector<SweepPrompt>& prompts);

// Edges of --edge: scores := −inf, or the value read along them := 0, from --queries to --keys in
// all heads of --window layers around each layer (Geva et al. 2023, Mohebbi et al. 2023).
PatchGroup edge_group(const PatchSpec& spec, const ExperimentInputs& inputs,
                      std::vector<SweepPrompt>& prompts);

}  // namespace attnscope
