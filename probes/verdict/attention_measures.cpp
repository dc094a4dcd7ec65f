// What attention says of each unit, as the measures that verdicts compare with effects.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "attnscope/core/device.h"
#include "measure.h"

namespace attnscope {
namespace {

// In the order of the record; the larger, the louder. Behind them, what only tells which units look
// alike.
enum Measure : std::size_t { kMass, kLargest, kFocus, kWeighted, kSource, kMeasures };
enum FurtherTrait : std::size_t { kSink = kMeasures, kOutput, kValues };
struct MeasureText {
  const char* name;
  const char* meaning;
};
constexpr std::array<MeasureText, kMeasures> kTexts = {{
    {"attention mass", "what a row gives to keys other than the first token and itself"},
    {"largest weight", "the largest weight of a row, the first token left out"},
    {"focus", "minus the entropy of a row in nats: 0 where all weight is on one key"},
    {"norm-weighted attention",
     "the sum over keys of weight × length of what the key's value adds to the residual"},
    {"attention to the answer's source", "what a row gives to the tokens that the answer is from"},
}};

// Rows of every pattern at some positions, and the norms of what the keys carry.
class RowKeeper final : public Observer {
 public:
  explicit RowKeeper(int n_layers) : norms(static_cast<std::size_t>(n_layers)) {}

  Want want(HookId hook) const override {
    if (hook.site == Site::result) return Want::whole_value();
    if (hook.site != Site::pattern) return Want::nothing();
    Want want = Want::all_maps();
    want.statistics = true;
    return want;
  }
  void on_map_rows(HookId hook, const MapRows& rows, const Batch&) override {
    blocks[hook.layer].push_back(rows.values.select(0, 0).to(at::kDouble));
  }
  void on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                     const Batch&) override {
    norms[static_cast<std::size_t>(hook.layer)] = rows[0].value_norm;
  }

  void on_value(HookId hook, const at::Tensor& value, const Batch&) override {
    outputs[hook.layer] = at::linalg_vector_norm(value.select(0, 0).to(at::kDouble), 2, {-1})
                              .to(at::kCPU)
                              .contiguous();
  }

  std::map<int, std::vector<at::Tensor>> blocks;  // [h q' k]
  std::map<int, at::Tensor> outputs;              // [q h] norms
  std::vector<std::vector<float>> norms;          // by layer [h k]
};

// One row of one head.
std::array<double, kValues> values_of_row(const double* weights, const float* norms, int n_keys,
                                          int query, const std::vector<int>& source) {
  std::array<double, kValues> m{};
  double entropy = 0;
  for (int k = 0; k < n_keys; ++k) {
    const double weight = weights[k];
    if (weight > 0) entropy -= weight * std::log(weight);
    if (k > 0) m[kLargest] = std::max(m[kLargest], weight);
    if (k > 0 && k != query) m[kMass] += weight;
    m[kWeighted] += weight * static_cast<double>(norms[k]);
  }
  m[kFocus] = -entropy;
  m[kSink] = weights[0];
  for (const int k : source) m[kSource] += weights[k < 0 ? n_keys + k : k];
  return m;
}

// [layer][head] of one prompt, means over the rows that are read.
std::vector<std::vector<std::array<double, kValues>>> values_of_prompt(const Model& model,
                                                                       const SweepPrompt& prompt,
                                                                       int source_set,
                                                                       Engine engine) {
  RowKeeper keeper(model.config().n_layers);
  Taps taps;
  taps.observers = {&keeper};
  model.run(make_batch({prompt.row}), taps, {.engine = engine, .logits = {.at = LogitsAt::none}});
  const auto n = static_cast<int>(prompt.row.ids.size());
  const std::vector<int> reads = prompt.target.at.empty() ? std::vector<int>{-1} : prompt.target.at;
  std::vector<int> source;
  if (source_set >= 0) source = prompt.position_sets[static_cast<std::size_t>(source_set)];
  std::vector<std::vector<std::array<double, kValues>>> all;
  for (int l = 0; l < model.config().n_layers; ++l) {
    const at::Tensor map = at::cat(keeper.blocks.at(l), 1).contiguous();  // [h q k]
    const int n_heads = model.config().n_heads(l);
    const double* outputs = keeper.outputs.at(l).const_data_ptr<double>();
    std::vector<std::array<double, kValues>> heads(static_cast<std::size_t>(n_heads));
    for (int h = 0; h < n_heads; ++h) {
      for (const int read : reads) {
        const int query = read < 0 ? n + read : read;
        const double* weights =
            map.const_data_ptr<double>() + (static_cast<std::int64_t>(h) * n + query) * n;
        const float* norms =
            keeper.norms[static_cast<std::size_t>(l)].data() + static_cast<std::ptrdiff_t>(h) * n;
        auto m = values_of_row(weights, norms, n, query, source);
        m[kOutput] = outputs[query * n_heads + h];
        for (std::size_t i = 0; i < kValues; ++i) {
          heads[static_cast<std::size_t>(h)][i] += m[i] / static_cast<double>(reads.size());
        }
      }
    }
    all.push_back(std::move(heads));
  }
  return all;
}

// Means over the query heads of one unit.
std::array<double, kValues> values_of_unit(
    const std::vector<std::vector<std::array<double, kValues>>>& of_heads, const UnitSite& site) {
  std::array<double, kValues> mean{};
  for (const int head : site.heads) {
    const auto& one =
        of_heads[static_cast<std::size_t>(site.hook.layer)][static_cast<std::size_t>(head)];
    for (std::size_t i = 0; i < kValues; ++i) {
      mean[i] += one[i] / static_cast<double>(site.heads.size());
    }
  }
  return mean;
}

// An output of 0 has a logarithm too.
constexpr double kLeastNorm = 1e-12;

}  // namespace

UnitAttention measure_attention(const VerdictWorld& world, Engine engine) {
  const OneComputeThread alone;
  const c10::InferenceMode inference;
  const std::size_t n_prompts = world.prompts.size();
  const std::size_t used = world.source_set >= 0 ? kMeasures : kSource;
  UnitAttention out;
  out.measures.resize(used);
  for (std::size_t i = 0; i < used; ++i) {
    out.measures[i].name = kTexts[i].name;
    out.measures[i].meaning = kTexts[i].meaning;
    out.measures[i].values.assign(world.units.size() * n_prompts, kNotMeasured);
  }
  out.traits.assign(world.units.size() * kTraits, 0);
  const std::vector<int> selection = prompts_of(Half::selection, world.halves, world.clusters);
  const double share = selection.empty() ? 0 : 1 / static_cast<double>(selection.size());
  for (std::size_t p = 0; p < n_prompts; ++p) {
    const auto of_heads = values_of_prompt(world.model, world.prompts[p], world.source_set, engine);
    const bool selected =
        std::binary_search(selection.begin(), selection.end(), static_cast<int>(p));
    for (std::size_t u = 0; u < world.units.size(); ++u) {
      const auto values =
          values_of_unit(of_heads, site_of(world.units[u].front(), world.model.config()));
      for (std::size_t i = 0; i < used; ++i) {
        out.measures[i].values[u * n_prompts + p] = values[i];
      }
      if (!selected) continue;
      double* traits = out.traits.data() + u * kTraits;
      traits[0] += share * std::log(std::max(values[kOutput], kLeastNorm));
      traits[1] -= share * values[kFocus];
      traits[2] += share * values[kSink];
    }
  }
  return out;
}

}  // namespace attnscope
