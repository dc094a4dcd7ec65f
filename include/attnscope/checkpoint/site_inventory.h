// File: site_inventory.h
// The hooks that a model has, from its configuration alone.
#pragma once

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/sites/site.h"

namespace attnscope {

// Every hook of the model, in the order of its forward pass.
SiteInventory site_inventory(const ModelConfig& config);

}  // namespace attnscope
