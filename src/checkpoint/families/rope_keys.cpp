#include "rope_keys.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "attnscope/support/utf8.h"
#include "config_keys.h"

namespace attnscope {
namespace {

constexpr NumberRange kThetaRange{1, 1e15};
constexpr NumberRange kFactorRange{1, 1e6};
constexpr NumberRange kPositive{1e-6, 1e9};

// The object that holds the scaling: rope_parameters, its part for one kind of layer, or
// rope_scaling.
std::optional<JsonObject> scaling_object(const JsonObject& json, std::string_view layer_type) {
  if (json.has("rope_parameters")) {
    JsonObject parameters = json.object("rope_parameters");
    if (parameters.has(layer_type)) return parameters.object(layer_type);
    return parameters;
  }
  if (json.has("rope_scaling")) return json.object("rope_scaling");
  return std::nullopt;
}

// Yarn's factor on cos and sin (Peng et al. 2023, "YaRN", with DeepSeek's mscale).
double yarn_attention_factor(const JsonObject& scaling, double factor) {
  if (scaling.has("attention_factor")) return scaling.number("attention_factor", kPositive);
  const auto magnitude = [&](double m) {
    return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1;
  };
  const double numerator = scaling.number_or("mscale", 0);
  const double denominator = scaling.number_or("mscale_all_dim", 0);
  if (numerator != 0 && denominator != 0) return magnitude(numerator) / magnitude(denominator);
  return magnitude(1);
}

void read_scaling(const JsonObject& scaling, int n_context, RopeSpec& rope) {
  const std::string_view key = present_key(scaling, {"rope_type", "type"});
  const std::string kind = scaling.string_or(key, "default");
  if (kind == "default") return;
  const double original =
      scaling.number_or("original_max_position_embeddings", n_context, kPositive);
  if (kind == "linear") {
    rope.scaling = RopeScaling::linear;
  } else if (kind == "dynamic") {
    rope.scaling = RopeScaling::dynamic;
    rope.original_context = n_context;
  } else if (kind == "yarn") {
    rope.scaling = RopeScaling::yarn;
    rope.original_context = original;
  } else if (kind == "llama3") {
    rope.scaling = RopeScaling::llama3;
    rope.original_context = scaling.number("original_max_position_embeddings", kPositive);
    rope.low_freq_factor = scaling.number("low_freq_factor", kPositive);
    rope.high_freq_factor = scaling.number("high_freq_factor", kPositive);
    if (rope.high_freq_factor <= rope.low_freq_factor) {
      scaling.fail("high_freq_factor", "", "more than low_freq_factor", "");
    }
  } else {
    not_supported(scaling, key, "the rotary kind " + quote(kind, 40),
                  {"default", "linear", "dynamic", "yarn", "llama3"});
  }
  rope.factor = scaling.number("factor", kFactorRange);
  if (rope.scaling == RopeScaling::yarn) {
    rope.attention_factor = yarn_attention_factor(scaling, rope.factor);
    rope.beta_fast = scaling.number_or("beta_fast", 32, kPositive);
    rope.beta_slow = scaling.number_or("beta_slow", 1, kPositive);
    rope.truncate = scaling.boolean_or("truncate", true);
  }
}

}  // namespace

RopeSpec read_rope(const JsonObject& json, const RopeDefaults& defaults,
                   std::string_view layer_type) {
  const std::optional<JsonObject> scaling = scaling_object(json, layer_type);
  RopeSpec rope;
  const bool inside = scaling && scaling->has("rope_theta");
  rope.theta = inside ? scaling->number("rope_theta", kThetaRange)
                      : read_number(json, present_key(json, {defaults.theta_key, "rope_theta"}),
                                    defaults.theta, kThetaRange);
  double fraction = defaults.rotary_fraction;
  if (scaling) {
    fraction = read_number(*scaling, "partial_rotary_factor", fraction, {1e-6, 1});
    read_scaling(*scaling, defaults.n_context, rope);
  }
  rope.rotary_dims = static_cast<int>(defaults.d_head * fraction);
  if (rope.rotary_dims < 2 || rope.rotary_dims % 2 != 0) {
    json.fail(present_key(json, {"head_dim", "rotary_pct", "num_attention_heads"}),
              "gives an odd number of rotated dims", "an even number of at least 2",
              std::to_string(rope.rotary_dims));
  }
  return rope;
}

}  // namespace attnscope
