#include "weights.h"

#include <algorithm>
#include <array>

#include "arena.h"
#include "attnscope/checkpoint/site_inventory.h"
#include "attnscope/core/tensor_convert.h"
#include "attnscope/support/error.h"
#include "attnscope/support/free_memory.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "weight_reader.h"

namespace attnscope {
namespace {

constexpr std::size_t kAlignment = 64;

// Roles whose weights lie side by side in memory, so that one matrix product serves them all.
constexpr std::array kQkvWeights = {Role::q_weight, Role::k_weight, Role::v_weight};
constexpr std::array kQkvBiases = {Role::q_bias, Role::k_bias, Role::v_bias};
constexpr std::array kGatedWeights = {Role::mlp_gate_weight, Role::mlp_in_weight};
constexpr std::array kGatedBiases = {Role::mlp_gate_bias, Role::mlp_in_bias};

// One weight: what the checkpoint holds and where it lies in the arena.
struct Placement {
  const TensorBinding* binding = nullptr;  // null: a bias that is absent beside one that is there
  const TensorInfo* info = nullptr;
  Role role{};
  int layer = -1;
  std::vector<std::int64_t> stored_shape;  // as it lies in the arena
  std::vector<std::int64_t> axes;          // see ReadTask
  std::size_t offset = 0;
  std::size_t bytes = 0;
  at::Tensor stored;
};

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

class WeightLoader {
 public:
  WeightLoader(const Checkpoint& checkpoint, const LoadOptions& options, Warnings& warnings)
      : checkpoint_(checkpoint), options_(options), warnings_(warnings) {}

  std::shared_ptr<const ModelWeights> load() {
    expect_supported();
    weights_->config = checkpoint_.config;
    weights_->dtype = options_.dtype;
    weights_->device = options_.device;
    weights_->sites = site_inventory(checkpoint_.config);
    place_all();
    expect_within(free_memory(), {.bytes = weights_->bytes,
                                  .what = "the weights",
                                  .where = checkpoint_.config.name,
                                  .next = "use a smaller --dtype or a machine with more memory"});
    make_tensors();
    read_all();
    check_twins();
    move_to_device();
    name_all();
    return weights_;
  }

 private:
  const TensorBinding* binding(Role role, int layer) const {
    for (const TensorBinding& candidate : checkpoint_.map.bindings) {
      if (candidate.role == role && candidate.layer == layer) return &candidate;
    }
    return nullptr;
  }

  bool gated() const { return checkpoint_.config.mlp == MlpKind::gated; }

  void expect_supported() const;
  void place_all();
  template <std::size_t N>
  void place_group(const std::array<Role, N>& roles, int layer);
  Placement placement_of(const TensorBinding& binding, bool in_group) const;
  std::int64_t bias_size(Role role, int layer) const;
  void place(const TensorBinding& binding);
  void reserve(Placement placement, bool aligned);
  void make_tensors();
  void read_all();
  void report(const Placement& placement, std::int64_t index);
  void check_twins();
  void move_to_device();
  void name_all();
  void name_layer(int layer);
  at::Tensor canonical(const Placement& placement) const;
  at::Tensor get(Role role, int layer = -1) const;
  Linear linear(Role weight, Role bias, int layer = -1) const;
  Norm norm(Role gain, Role bias, int layer = -1) const;
  at::Tensor norm_gain(Role role, int layer) const;
  template <std::size_t N>
  at::Tensor joined(const std::array<Role, N>& roles, int layer) const;

  const Checkpoint& checkpoint_;
  const LoadOptions& options_;
  Warnings& warnings_;
  std::shared_ptr<ModelWeights> weights_ = std::make_shared<ModelWeights>();
  std::vector<Placement> placements_;
  std::map<std::pair<Role, int>, std::size_t> index_;
};

// Axes of the file in the order of the canonical weight, for layouts that no view can express.
std::vector<std::int64_t> copied_axes(const TensorBinding& binding, bool in_group) {
  if (binding.layout == Layout::head_in_out) return {0, 2, 1};
  if (binding.layout == Layout::in_out && in_group) return {1, 0};
  return {};
}

void WeightLoader::reserve(Placement placement, bool aligned) {
  std::size_t offset = weights_->bytes;
  if (aligned) offset = (offset + kAlignment - 1) / kAlignment * kAlignment;
  placement.offset = offset;
  placement.bytes =
      static_cast<std::size_t>(product(placement.stored_shape)) * dtype_size(options_.dtype);
  weights_->bytes = offset + placement.bytes;
  index_[{placement.role, placement.layer}] = placements_.size();
  placements_.push_back(std::move(placement));
}

Placement WeightLoader::placement_of(const TensorBinding& binding, bool in_group) const {
  const TensorInfo* info = checkpoint_.tensors->find(binding.name);
  if (info == nullptr) {
    throw Error(ErrorKind::internal, "MO02",
                {.where = checkpoint_.config.name,
                 .what = "no tensor " + quote(binding.name) + " for " + role_name(binding.role)});
  }
  if (!at::isFloatingType(scalar_type(info->dtype))) {
    throw Error(ErrorKind::input, "MO03",
                {.where = checkpoint_.config.name,
                 .what = "tensor " + quote(binding.name) + " holds " + dtype_name(info->dtype),
                 .expected = "float16, bfloat16, float32 or float64"});
  }
  Placement placement = {.binding = &binding,
                         .info = info,
                         .role = binding.role,
                         .layer = binding.layer,
                         .stored_shape = info->shape,
                         .axes = copied_axes(binding, in_group)};
  for (std::size_t i = 0; i < placement.axes.size(); ++i) {
    placement.stored_shape[i] = info->shape[static_cast<std::size_t>(placement.axes[i])];
  }
  return placement;
}

void WeightLoader::place(const TensorBinding& binding) {
  if (index_.contains({binding.role, binding.layer})) return;
  reserve(placement_of(binding, false), true);
}

std::int64_t WeightLoader::bias_size(Role role, int layer) const {
  const LayerConfig& config = checkpoint_.config.layers[static_cast<std::size_t>(layer)];
  if (role == Role::mlp_in_bias || role == Role::mlp_gate_bias) return config.d_mlp;
  const int heads = role == Role::q_bias ? config.attention.n_heads : config.attention.n_kv_heads;
  return static_cast<std::int64_t>(heads) * config.attention.d_head;
}

// The members of a group follow each other without a gap; a missing bias is a run of zeros.
template <std::size_t N>
void WeightLoader::place_group(const std::array<Role, N>& roles, int layer) {
  const bool any = std::any_of(roles.begin(), roles.end(),
                               [&](Role role) { return binding(role, layer) != nullptr; });
  if (!any) return;
  for (std::size_t i = 0; i < N; ++i) {
    const TensorBinding* found = binding(roles[i], layer);
    reserve(found != nullptr ? placement_of(*found, true)
                             : Placement{.role = roles[i],
                                         .layer = layer,
                                         .stored_shape = {bias_size(roles[i], layer)}},
            i == 0);
  }
}

void WeightLoader::expect_supported() const {
  for (const LayerConfig& layer : checkpoint_.config.layers) {
    if (!layer.attention.alibi) continue;
    throw Error(ErrorKind::input, "MO06",
                {.where = checkpoint_.config.name,
                 .what = "ALiBi score biases are not supported",
                 .next = "use a model with learned or rotary positions"});
  }
  if (checkpoint_.config.stack == StackKind::encoder_decoder) {
    throw Error(ErrorKind::input, "MO07",
                {.where = checkpoint_.config.name,
                 .what = "encoder-decoder models are not supported",
                 .next = "use a decoder-only or encoder-only model"});
  }
}

void WeightLoader::place_all() {
  for (int layer = 0; layer < checkpoint_.config.n_distinct_layers; ++layer) {
    place_group(kQkvWeights, layer);
    place_group(kQkvBiases, layer);
    if (gated()) {
      place_group(kGatedWeights, layer);
      place_group(kGatedBiases, layer);
    }
  }
  for (const TensorBinding& binding : checkpoint_.map.bindings) place(binding);
}

void WeightLoader::make_tensors() {
  const auto arena = std::make_shared<Arena>(weights_->bytes);
  for (Placement& placement : placements_) {
    // Each tensor keeps the arena alive.
    placement.stored = at::from_blob(
        arena->data() + placement.offset, placement.stored_shape, [arena](void*) {},
        at::TensorOptions(scalar_type(options_.dtype)));
  }
}

void WeightLoader::read_all() {
  std::vector<ReadTask> tasks;
  std::vector<const Placement*> owners;
  for (Placement& placement : placements_) {
    if (placement.info == nullptr) continue;
    tasks.push_back({placement.info, placement.stored, placement.axes});
    owners.push_back(&placement);
  }
  const auto found =
      read_tensors(*checkpoint_.tensors, tasks, std::max(1, options_.reader_threads));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) report(*owners[i], *found[i]);
  }
}

void WeightLoader::report(const Placement& placement, std::int64_t index) {
  std::vector<std::string> coordinates(placement.info->shape.size());
  std::int64_t rest = index;
  for (std::size_t axis = coordinates.size(); axis-- > 0;) {
    coordinates[axis] = std::to_string(rest % placement.info->shape[axis]);
    rest /= placement.info->shape[axis];
  }
  const std::string what = "tensor " + quote(placement.binding->name) +
                           " holds NaN or infinity, first at [" + join(coordinates, ",") + "]";
  if (options_.strictness == Strictness::strict) {
    throw Error(ErrorKind::input, "MO04", {.where = checkpoint_.config.name, .what = what});
  }
  warnings_.add(checkpoint_.config.name + ": " + what);
}

void WeightLoader::check_twins() {
  for (const TiedTwin& twin : checkpoint_.map.twins) {
    const TensorInfo* copy = checkpoint_.tensors->find(twin.name);
    const TensorInfo* original = checkpoint_.tensors->find(twin.same_as);
    if (copy == nullptr || original == nullptr) continue;
    if (same_values(*checkpoint_.tensors, *copy, *original)) continue;
    throw Error(ErrorKind::input, "MO05",
                {.where = checkpoint_.config.name,
                 .what = "tensor " + quote(twin.name) + " is tied to " + quote(twin.same_as) +
                         " and differs from it",
                 .next = "set tie_word_embeddings to false if both are meant"});
  }
}

void WeightLoader::move_to_device() {
  if (weights_->device.is_cpu()) return;
  for (Placement& placement : placements_) {
    placement.stored = placement.stored.to(weights_->device);
  }
}

at::Tensor WeightLoader::canonical(const Placement& placement) const {
  const at::Tensor& stored = placement.stored;
  const Layout layout =
      placement.binding == nullptr ? Layout::canonical : placement.binding->layout;
  switch (layout) {
    case Layout::in_out:
      return placement.axes.empty() ? stored.t() : stored;
    case Layout::qkv_concatenated_in_out:
      return stored.dim() == 2 ? stored.t() : stored;
    case Layout::transposed_table:
      return stored.t();
    case Layout::head_out_in:
    case Layout::head_in_out:
      return stored.flatten(0, 1);
    case Layout::head_d_out:
      return stored.flatten(0, 1).t();
    case Layout::head_d:
      return stored.flatten();
    case Layout::canonical:
    case Layout::qkv_concatenated:
    case Layout::qkv_per_head:
      return stored;
  }
  return stored;
}

at::Tensor WeightLoader::get(Role role, int layer) const {
  const auto found = weights_->by_role.find({role, layer});
  return found == weights_->by_role.end() ? at::Tensor() : found->second;
}

Linear WeightLoader::linear(Role weight, Role bias, int layer) const {
  return {get(weight, layer), get(bias, layer)};
}

at::Tensor WeightLoader::norm_gain(Role role, int layer) const {
  const at::Tensor gain = get(role, layer);
  if (!gain.defined()) return gain;
  const at::Tensor wide = gain.to(gain.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const double offset = checkpoint_.config.norm_weight_offset;
  return offset == 0 ? wide : wide + offset;
}

Norm WeightLoader::norm(Role gain, Role bias, int layer) const {
  Norm norm = {norm_gain(gain, layer), get(bias, layer)};
  if (norm.bias.defined()) norm.bias = norm.bias.to(norm.gain.scalar_type());
  return norm;
}

// The members of a group as one tensor: they lie side by side.
template <std::size_t N>
at::Tensor WeightLoader::joined(const std::array<Role, N>& roles, int layer) const {
  const at::Tensor first = get(roles[0], layer);
  if (!first.defined()) return first;
  if (!weights_->device.is_cpu()) {
    std::vector<at::Tensor> parts;
    for (const Role role : roles) parts.push_back(get(role, layer));
    return at::cat(parts);
  }
  std::vector<std::int64_t> shape = first.sizes().vec();
  for (std::size_t i = 1; i < N; ++i) shape[0] += get(roles[i], layer).size(0);
  return at::from_blob(
      first.data_ptr(), shape, [first](void*) {}, first.options());
}

void WeightLoader::name_layer(int index) {
  LayerWeights layer;
  layer.ln1 = norm(Role::ln1_weight, Role::ln1_bias, index);
  layer.ln1_post = norm(Role::ln1_post_weight, Role::ln1_post_bias, index);
  layer.ln2 = norm(Role::ln2_weight, Role::ln2_bias, index);
  layer.ln2_post = norm(Role::ln2_post_weight, Role::ln2_post_bias, index);
  layer.qkv = linear(Role::qkv_weight, Role::qkv_bias, index);
  if (layer.qkv.defined()) {
    const bool per_head = binding(Role::qkv_weight, index)->layout == Layout::qkv_per_head;
    layer.qkv_order = per_head ? QkvOrder::per_head : QkvOrder::concatenated;
  } else {
    layer.qkv = {joined(kQkvWeights, index), joined(kQkvBiases, index)};
  }
  layer.q_norm = norm_gain(Role::q_norm_weight, index);
  layer.k_norm = norm_gain(Role::k_norm_weight, index);
  layer.o = linear(Role::o_weight, Role::o_bias, index);
  layer.sink = get(Role::sink, index);
  layer.mlp_in = gated() ? Linear{joined(kGatedWeights, index), joined(kGatedBiases, index)}
                         : linear(Role::mlp_in_weight, Role::mlp_in_bias, index);
  layer.mlp_out = linear(Role::mlp_out_weight, Role::mlp_out_bias, index);
  weights_->distinct_layers.push_back(std::move(layer));
}

void WeightLoader::name_all() {
  for (const Placement& placement : placements_) {
    weights_->by_role[{placement.role, placement.layer}] = canonical(placement);
  }
  weights_->token_embedding = get(Role::token_embedding);
  weights_->position_embedding = get(Role::position_embedding);
  weights_->token_type_embedding = get(Role::token_type_embedding);
  weights_->embed_norm = norm(Role::embed_norm_weight, Role::embed_norm_bias);
  weights_->embed_projection = linear(Role::embed_projection, Role::embed_projection_bias);
  for (int layer = 0; layer < checkpoint_.config.n_distinct_layers; ++layer) name_layer(layer);
  weights_->final_norm = norm(Role::final_norm_weight, Role::final_norm_bias);
  weights_->head_dense = linear(Role::head_dense_weight, Role::head_dense_bias);
  weights_->head_norm = norm(Role::head_norm_weight, Role::head_norm_bias);
  weights_->head = linear(Role::head_weight, Role::head_bias);
  if (!weights_->head.defined() && checkpoint_.config.head != HeadKind::none) {
    weights_->head.weight = weights_->token_embedding;
  }
}

}  // namespace

at::Tensor Linear::operator()(const at::Tensor& x) const {
  return at::linear(x, weight, bias);
}

std::shared_ptr<const ModelWeights> load_weights(const Checkpoint& checkpoint,
                                                 const LoadOptions& options, Warnings& warnings) {
  return WeightLoader(checkpoint, options, warnings).load();
}

}  // namespace attnscope
