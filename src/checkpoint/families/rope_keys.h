// File: rope_keys.h
// Rotary position settings: rope_theta with rope_scaling, or the newer rope_parameters, which may
// differ by the kind of layer.
#pragma once

#include <string_view>

#include "attnscope/kernels/attention_spec.h"
#include "attnscope/support/json.h"

namespace attnscope {

struct RopeDefaults {
  double theta = 10000;
  std::string_view theta_key = "rope_theta";
  int d_head = 0;
  int n_context = 0;
  double rotary_fraction = 1;  // of d_head, for families that rotate a part
};

// `layer_type` is "full_attention" or "sliding_attention". Supported kinds: default, linear,
// dynamic, yarn, llama3; others are refused.
RopeSpec read_rope(const JsonObject& json, const RopeDefaults& defaults,
                   std::string_view layer_type);

}  // namespace attnscope
