#include "attnscope/probes/random_model.h"

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numbers>
#include <string>

#include "attnscope/support/philox.h"

namespace attnscope {
namespace {

// The values of one tensor: constant, or normal with a spread.
struct Recipe {
  std::uint64_t stream = 0;
  double constant = 0;
  double spread = 0;  // 0: constant
};

bool is_gain(Role role) {
  switch (role) {
    case Role::embed_norm_weight:
    case Role::ln1_weight:
    case Role::ln1_post_weight:
    case Role::q_norm_weight:
    case Role::k_norm_weight:
    case Role::ln2_weight:
    case Role::ln2_post_weight:
    case Role::final_norm_weight:
    case Role::head_norm_weight:
      return true;
    default:
      return false;
  }
}

Recipe recipe_of(const ModelConfig& config, const TensorBinding& binding, std::uint64_t stream) {
  Recipe recipe{.stream = stream};
  if (is_gain(binding.role)) {
    recipe.constant = 1 - config.norm_weight_offset;
    return recipe;
  }
  const auto shape = canonical_shape(config, binding.role, binding.layer);
  if (shape.size() == 2) recipe.spread = 1 / std::sqrt(static_cast<double>(shape.back()));
  return recipe;
}

// Four normal numbers from one block of the generator (Box and Muller 1958).
std::array<float, 4> four_normals(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto bits =
      philox4x32({low(block), high(block), low(stream), high(stream)}, {low(seed), high(seed)});
  const auto unit = [](std::uint32_t x) { return (x + 0.5) / 4294967296.0; };  // in (0, 1)
  std::array<float, 4> values{};
  for (std::size_t pair = 0; pair < 2; ++pair) {
    const double radius = std::sqrt(-2 * std::log(unit(bits[2 * pair])));
    const double angle = 2 * std::numbers::pi * unit(bits[2 * pair + 1]);
    values[2 * pair] = static_cast<float>(radius * std::cos(angle));
    values[2 * pair + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return values;
}

class RandomTensorSource final : public TensorSource {
 public:
  RandomTensorSource(const Checkpoint& like, std::uint64_t seed) : seed_(seed) {
    for (const TensorBinding& binding : like.map.bindings) {
      if (recipes_.contains(binding.name)) continue;
      recipes_[binding.name] = recipe_of(like.config, binding, recipes_.size());
      std::uint64_t count = 1;
      for (const std::int64_t size : binding.shape) count *= static_cast<std::uint64_t>(size);
      tensors_.push_back({.name = binding.name,
                          .dtype = DType::f32,
                          .shape = binding.shape,
                          .bytes = count * sizeof(float)});
    }
  }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }

  const TensorInfo* find(const std::string& name) const override {
    for (const TensorInfo& tensor : tensors_) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }

  void read_part(const TensorInfo& tensor, std::uint64_t offset, void* out,
                 std::uint64_t bytes) const override {
    const Recipe& recipe = recipes_.at(tensor.name);
    auto* target = static_cast<char*>(out);
    for (std::uint64_t done = 0; done < bytes;) {
      // Whole blocks of four values, of which the first and the last may be cut.
      const std::uint64_t at = offset + done;
      std::array<float, 4> values{};
      values.fill(static_cast<float>(recipe.constant));
      if (recipe.spread > 0) {
        values = four_normals(seed_, recipe.stream, at / sizeof values);
        for (float& value : values) value *= static_cast<float>(recipe.spread);
      }
      const std::uint64_t skip = at % sizeof values;
      const std::uint64_t size = std::min<std::uint64_t>(sizeof values - skip, bytes - done);
      std::memcpy(target + done, reinterpret_cast<const char*>(values.data()) + skip, size);
      done += size;
    }
  }

 private:
  std::uint64_t seed_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, Recipe> recipes_;
};

}  // namespace

Checkpoint random_model(const Checkpoint& like, std::uint64_t seed) {
  Checkpoint random;
  random.config = like.config;
  random.config.name = like.config.name + ", random weights";
  random.config.stored_dtype = DType::f32;
  random.map.bindings = like.map.bindings;
  random.tensors = std::make_shared<RandomTensorSource>(like, seed);
  random.tokenizer_json = like.tokenizer_json;
  random.tokenizer_config = like.tokenizer_config;
  return random;
}

}  // namespace attnscope
