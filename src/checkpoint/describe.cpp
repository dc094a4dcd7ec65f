#include "attnscope/checkpoint/describe.h"

#include <algorithm>
#include <set>

#include "attnscope/support/text.h"

namespace attnscope {
namespace {

constexpr std::uint64_t kFloatBytes = 4;
constexpr int kDigits = 6;  // of numbers that people read

std::string kind_text(StackKind kind) {
  switch (kind) {
    case StackKind::decoder_only:
      return "decoder";
    case StackKind::encoder_only:
      return "encoder";
    case StackKind::encoder_decoder:
      return "encoder and decoder";
  }
  return "";
}

std::string norm_text(const ModelConfig& config) {
  if (config.placement == NormPlacement::none) return "none";
  std::string text = config.norm == NormKind::rms_norm ? "RMS norm" : "layer norm";
  switch (config.placement) {
    case NormPlacement::pre:
      text += " before attention and MLP";
      break;
    case NormPlacement::post:
      text += " after each residual sum";
      break;
    case NormPlacement::sandwich:
      text += " before and after attention and MLP";
      break;
    case NormPlacement::none:
      break;
  }
  if (config.norm_weight_offset != 0) {
    text += ", gains stored as w - " + format_number(config.norm_weight_offset, kDigits);
  }
  return text + ", eps " + format_number(config.norm_eps, kDigits);
}

std::string position_text(const ModelConfig& config) {
  switch (config.position) {
    case PositionKind::none:
      return "none";
    case PositionKind::learned:
      return "learned, up to " + std::to_string(config.n_context);
    case PositionKind::rotary:
      return "rotary, made for " + std::to_string(config.n_context);
  }
  return "";
}

std::string activation_text(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu (tanh form)";
    case Activation::silu:
      return "silu";
    case Activation::identity:
      return "identity";
  }
  return "";
}

std::string mlp_text(const ModelConfig& config) {
  if (config.mlp == MlpKind::none) return "none";
  return (config.mlp == MlpKind::gated ? "gated, " : "plain, ") +
         activation_text(config.activation);
}

std::string classifier_text(ClassifierKind kind) {
  switch (kind) {
    case ClassifierKind::pooled_tanh:
    case ClassifierKind::pooled_relu:
      return "sequence classifier on the pooled first token";
    case ClassifierKind::first_token:
      return "classifier on the first token";
    case ClassifierKind::every_token:
      return "classifier on every token";
    case ClassifierKind::last_token:
      return "classifier on the last token";
  }
  return "";
}

std::string head_text(const ModelConfig& config) {
  const std::string outputs = ", " + count_of(config.d_vocab_out, "output");
  const std::string tied = config.tied_head ? ", tied to the embedding" : "";
  switch (config.head) {
    case HeadKind::none:
      return "none: hidden states only";
    case HeadKind::language_model:
      return "language model" + outputs + tied;
    case HeadKind::masked_lm:
      return "masked language model" + outputs + tied;
    case HeadKind::classifier:
      return classifier_text(config.classifier) + outputs;
  }
  return "";
}

std::string mask_text(const AttentionSpec& spec) {
  std::string text = spec.mask == MaskKind::causal ? "causal" : "bidirectional";
  if (spec.window > 0) text += ", window of " + count_of(spec.window, "key");
  return text;
}

const char* scaling_text(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::none:
      return "";
    case RopeScaling::linear:
      return "linear";
    case RopeScaling::dynamic:
      return "dynamic";
    case RopeScaling::yarn:
      return "yarn";
    case RopeScaling::llama3:
      return "llama3";
    case RopeScaling::longrope:
      return "longrope";
  }
  return "";
}

std::string rotary_text(const AttentionSpec& spec) {
  if (!spec.rotary) return "";
  const std::string dims =
      std::to_string(spec.rope.rotary_dims) + " of " + std::to_string(spec.d_head) + " dims";
  std::string text = "theta " + format_number(spec.rope.theta, kDigits) + ", " + dims;
  if (spec.rope.layout == RopeLayout::interleaved) text += ", neighbouring pairs";
  if (spec.rope.scaling == RopeScaling::none) return text;
  return text + ", " + scaling_text(spec.rope.scaling) + " by " +
         format_number(spec.rope.factor, kDigits);
}

std::string detail_text(const AttentionSpec& spec) {
  std::vector<std::string> parts;
  if (spec.qk_norm) parts.emplace_back("norm of q and k per head");
  if (spec.softcap > 0) parts.push_back("scores capped at " + format_number(spec.softcap, kDigits));
  if (spec.alibi) parts.emplace_back("ALiBi");
  if (spec.learned_sink) parts.emplace_back("learned sinks");
  if (spec.softmax_mix != 1) {
    const std::string c = format_number(spec.softmax_mix, kDigits);
    parts.push_back("pattern " + c + "·softmax + (1 - " + c + ")");
  }
  return join(parts, ", ");
}

LayerGroup group_of(const LayerConfig& layer, int index) {
  const AttentionSpec& spec = layer.attention;
  return {.first = index,
          .last = index,
          .n_heads = spec.n_heads,
          .n_kv_heads = spec.n_kv_heads,
          .d_head = spec.d_head,
          .d_mlp = layer.d_mlp,
          .mask = mask_text(spec),
          .rotary = rotary_text(spec),
          .details = detail_text(spec)};
}

bool alike(const LayerGroup& a, const LayerGroup& b) {
  return a.n_heads == b.n_heads && a.n_kv_heads == b.n_kv_heads && a.d_head == b.d_head &&
         a.d_mlp == b.d_mlp && a.mask == b.mask && a.rotary == b.rotary && a.details == b.details;
}

std::vector<LayerGroup> layer_groups(const ModelConfig& config) {
  std::vector<LayerGroup> groups;
  for (int l = 0; l < config.n_layers; ++l) {
    const LayerGroup group = group_of(config.layers[static_cast<std::size_t>(l)], l);
    if (!groups.empty() && alike(groups.back(), group)) {
      groups.back().last = l;
    } else {
      groups.push_back(group);
    }
  }
  return groups;
}

std::vector<std::string> unused_tensors(const Checkpoint& checkpoint) {
  std::set<std::string> read;
  for (const TensorBinding& binding : checkpoint.map.bindings) read.insert(binding.name);
  std::vector<std::string> unused;
  for (const TensorInfo& tensor : checkpoint.tensors->tensors()) {
    if (!read.contains(tensor.name)) unused.push_back(tensor.name);
  }
  return unused;
}

void describe_weights(const Checkpoint& checkpoint, ArchitectureDescription& out) {
  out.parameters = parameter_count(checkpoint.map);
  out.memory_bytes = static_cast<std::uint64_t>(out.parameters) * kFloatBytes;
  std::set<std::string> types;
  std::set<std::string> counted;
  for (const TensorBinding& binding : checkpoint.map.bindings) {
    const TensorInfo* info = checkpoint.tensors->find(binding.name);
    if (info == nullptr || !counted.insert(binding.name).second) continue;
    out.stored_bytes += info->bytes;
    types.insert(dtype_name(info->dtype));
  }
  out.stored_types = join({types.begin(), types.end()}, ", ");
  out.unused = unused_tensors(checkpoint);
}

}  // namespace

ArchitectureDescription describe_architecture(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config;
  ArchitectureDescription out;
  out.name = config.name;
  out.family = config.family;
  out.architecture = config.architecture;
  out.kind = kind_text(config.stack);
  out.norm = norm_text(config);
  out.positions = position_text(config);
  out.mlp = mlp_text(config);
  out.block = config.parallel_block ? "attention and MLP in parallel" : "attention, then MLP";
  out.head = head_text(config);
  out.d_model = config.d_model;
  out.d_embed = config.d_embed;
  out.d_vocab = config.d_vocab;
  out.n_context = config.n_context;
  out.n_layers = config.n_layers;
  out.n_distinct_layers = config.n_distinct_layers;
  out.layers = layer_groups(config);
  out.labels = config.labels;
  describe_weights(checkpoint, out);
  return out;
}

MemoryFigures estimate_memory(const ModelConfig& config, std::int64_t tokens) {
  const auto n = static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 0));
  MemoryFigures estimate{.tokens = tokens};
  std::uint64_t widest = 0;
  for (const LayerConfig& layer : config.layers) {
    const auto heads = static_cast<std::uint64_t>(layer.attention.n_heads);
    const auto kv_heads = static_cast<std::uint64_t>(layer.attention.n_kv_heads);
    const auto d_head = static_cast<std::uint64_t>(layer.attention.d_head);
    // q, z, k and v, and the MLP before and after its activation.
    const std::uint64_t values =
        2 * (heads + kv_heads) * d_head + 2 * static_cast<std::uint64_t>(layer.d_mlp);
    widest = std::max(widest, values);
    const std::uint64_t maps = heads * n * n * kFloatBytes;
    estimate.layer_maps = std::max(estimate.layer_maps, maps);
    estimate.all_maps += maps;
  }
  // The residual stream, its normalised copy and one branch.
  const std::uint64_t residual = 3 * static_cast<std::uint64_t>(config.d_model);
  estimate.activations = (residual + widest) * n * kFloatBytes;
  return estimate;
}

}  // namespace attnscope
