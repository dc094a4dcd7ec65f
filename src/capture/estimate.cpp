#include "estimate.h"

#include <algorithm>
#include <map>

#include "attnscope/capture/run_choices.h"
#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/model/run_options.h"
#include "capture_record.h"
#include "pyramid.h"

namespace attnscope {
namespace {

// Queries whose maps are explicit at once.
constexpr std::int64_t kQueryBlock = 128;

// Results that wait on the device, one a step; model/deliveries.h.
constexpr std::int64_t kResultsInFlight = 2;

// Stored bytes ÷ bytes of the values, measured on trained models at 512 tokens.
constexpr double kRoundedMapRatio = 0.32;
constexpr double kHalfMapRatio = 0.55;
constexpr double kFloatRatio = 0.93;

constexpr std::int64_t kFloorTokens = 4096;

double disk_ratio(const HookPlan& hook, const CaptureSpec& spec, FileLayout layout) {
  // Packed datasets grow with the prompts and are not compressed.
  if (layout == FileLayout::packed && !hook.map) return 1.0;
  if (hook.hook.site != Site::pattern) return kFloatRatio;
  if (spec.map_format == MapFormat::r10) return kRoundedMapRatio;
  return spec.map_format == MapFormat::f16 ? kHalfMapRatio : kFloatRatio;
}

// Matrices of one layer, without norms and biases.
double layer_weights(const ModelConfig& config, const LayerConfig& layer) {
  const AttentionSpec& a = layer.attention;
  double weights =
      config.d_model * static_cast<double>(a.d_head) * (2.0 * a.n_heads + 2.0 * a.n_kv_heads);
  const double mlp = config.d_model * static_cast<double>(layer.d_mlp);
  if (config.mlp != MlpKind::none) weights += (config.mlp == MlpKind::gated ? 3.0 : 2.0) * mlp;
  return weights;
}

// Weights in memory, norms and biases left out.
double weight_count(const ModelConfig& config) {
  const double embed = config.d_embed > 0 ? config.d_embed : config.d_model;
  double count = (config.d_vocab + config.token_types) * embed;
  if (config.position == PositionKind::learned) count += config.n_context * embed;
  for (std::size_t l = 0; l < config.layers.size(); ++l) {
    const bool repeated =
        config.n_distinct_layers > 0 && l >= static_cast<std::size_t>(config.n_distinct_layers);
    if (!repeated) count += layer_weights(config, config.layers[l]);
  }
  if (config.head != HeadKind::none && !config.tied_head) {
    count += static_cast<double>(config.d_model) * config.d_vocab_out;
  }
  return count;
}

std::int64_t float_bytes(const CaptureSpec& spec) {
  return spec.compute.dtype == ComputeDType::f64 ? 8 : 4;
}

std::int64_t compute_bytes(const CaptureSpec& spec) {
  switch (spec.compute.dtype) {
    case ComputeDType::f64:
      return 8;
    case ComputeDType::f32:
      return 4;
    default:
      return 2;
  }
}

std::uint64_t map_bytes(const MapSpec& map) {
  std::uint64_t values = 0;
  for (const Tile& tile : TileGrid(map).tiles()) {
    values += static_cast<std::uint64_t>(tile.heads * tile.queries * tile.keys);
  }
  return values * (map.dtype == MapDType::f16 ? 2 : 4);
}

// All tables of one layer and prompt.
std::uint64_t table_bytes(std::int64_t heads, std::int64_t tokens, const CapturePlan& plan,
                          int top_k) {
  constexpr std::int64_t kOverview = 64;
  const std::int64_t k = std::min<std::int64_t>(top_k, tokens);
  const std::int64_t side = std::min(kOverview, tokens);
  const std::int64_t head_stats = kHeadStatCount * 4;
  if (!plan.all_tables) return static_cast<std::uint64_t>(heads * head_stats);
  const std::int64_t rows = tokens * (kRowStatCount * 4 + k * 8);
  const std::int64_t keys = tokens * 8;
  return static_cast<std::uint64_t>(heads * (head_stats + rows + keys + side * side));
}

class SiteTotals {
 public:
  void add(const std::string& site, std::uint64_t bytes, double ratio) {
    SiteEstimate& total = totals_[site];
    total.site = site;
    total.value_bytes += bytes;
    total.disk_bytes += static_cast<std::uint64_t>(static_cast<double>(bytes) * ratio);
  }
  std::vector<SiteEstimate> largest_first() const {
    std::vector<SiteEstimate> sites;
    for (const auto& [name, total] : totals_) sites.push_back(total);
    std::stable_sort(sites.begin(), sites.end(),
                     [](const auto& a, const auto& b) { return a.value_bytes > b.value_bytes; });
    return sites;
  }

 private:
  std::map<std::string, SiteEstimate> totals_;
};

// What one prompt adds to the file, a site at a time: name, bytes of the values, stored ÷ values.
template <typename Visit>
void visit_sites(const ModelConfig& config, const CaptureSpec& spec, const CapturePlan& plan,
                 std::size_t prompt, const Visit& visit) {
  const auto tokens = static_cast<std::int64_t>(plan.prompts[prompt].size());
  const std::vector<int>& positions = plan.positions[prompt];
  for (const HookPlan& hook : plan.hooks) {
    visit(site_info(hook.hook.site).name, hook_bytes(config, hook, spec, tokens, positions),
          disk_ratio(hook, spec, plan.layout));
    if (!hook.map) continue;
    const std::uint64_t levels = pyramid_bytes(map_spec(config, hook, spec, tokens, positions));
    if (levels > 0) visit("pyramid", levels, kRoundedMapRatio);
  }
  for (const int layer : plan.statistics_layers) {
    visit("statistics", table_bytes(config.n_heads(layer), tokens, plan, spec.top_k), kFloatRatio);
  }
}

// Most heads of a layer whose maps are kept.
std::int64_t most_map_heads(const ModelConfig& config, const CapturePlan& plan) {
  std::int64_t most = 0;
  for (const HookPlan& hook : plan.hooks) {
    if (!hook.map) continue;
    const int all = config.n_heads(hook.hook.layer);
    most = std::max(most, hook.heads.empty() ? std::int64_t{all}
                                             : static_cast<std::int64_t>(hook.heads.size()));
  }
  return most;
}

// Positions whose inner MLP values live at once.
std::int64_t mlp_positions(const CapturePlan& plan, std::int64_t length) {
  const bool observed = keeps(plan, Site::mlp_pre) || keeps(plan, Site::mlp_pre_linear) ||
                        keeps(plan, Site::mlp_post);
  return observed ? length : std::min(length, kMlpPositions);
}

// What the engine for GPUs holds of one layer: keys and values of each query head, three arrays of
// doubles of which value norms are made, the sums of the statistics, and two parts of maps.
std::int64_t cuda_values(const AttentionSpec& a, int top_k, std::int64_t map_heads,
                         std::int64_t rows, std::int64_t length) {
  constexpr std::int64_t kMasses = kCudaRowSumCount + 1;  // with the log-sum-exp
  constexpr std::int64_t kKeyWords = 2 + 3;               // its sum, its norm in both types
  const std::int64_t heads = std::int64_t{a.n_heads} * a.d_head * (2 + 2 * 3);
  const std::int64_t sums = a.n_heads * (kMasses + 2 * std::int64_t{top_k} + kKeyWords);
  const std::int64_t tiles =
      map_heads * std::min<std::int64_t>(kCudaMapTile, length) * (length + kCudaMapTile);
  const bool in_blocks = a.softcap != 0 || a.learned_sink;
  const std::int64_t scores = in_blocks ? 3 * a.n_heads * kQueryBlock * length : 0;
  return rows * (length * (heads + kResultsInFlight * sums) + kResultsInFlight * tiles + scores);
}

// What attention itself holds of one layer, in values: blocks of maps, and in tiles the transposed
// keys, a thread's scores and the sums over keys.
std::int64_t attention_values(const AttentionSpec& a, Engine engine, std::int64_t map_heads,
                              std::int64_t rows, std::int64_t length) {
  constexpr std::int64_t kMostThreads = 16;
  constexpr std::int64_t kSumsPerKey = 4;
  const std::int64_t block = std::min(kQueryBlock, length) * length;
  const std::int64_t strip = std::min<std::int64_t>(kMapStripQueries, length) * length;
  if (engine != Engine::cpu_tiled) return 3 * rows * a.n_heads * block;
  const std::int64_t keys = std::int64_t{a.n_kv_heads} * a.d_head + kSumsPerKey * a.n_heads;
  return rows * length * keys + rows * map_heads * strip + kMostThreads * block / 2;
}

void estimate_memory(const ModelConfig& config, const CaptureSpec& spec, CapturePlan& plan) {
  plan.memory.weights =
      static_cast<std::uint64_t>(weight_count(config) * static_cast<double>(compute_bytes(spec)));
  // The device is not known here, and a plan must not depend on it.
  const Engine engine = engine_of(decide_engine(spec, config, plan, c10::kCPU).engine);
  std::uint64_t tile_rows = 0;
  for (const ShardPlan& shard : plan.shards) {
    for (const BatchPlan& batch : shard.batches) {
      std::size_t length = 0;
      for (const int p : batch.prompts) {
        length = std::max(length, plan.prompts[static_cast<std::size_t>(p)].size());
      }
      const auto rows = static_cast<std::int64_t>(batch.prompts.size());
      const auto columns = static_cast<std::int64_t>(length);
      plan.memory.activations = std::max(
          plan.memory.activations, activation_bytes(config, spec, plan, engine, rows, columns));
      for (const HookPlan& hook : plan.hooks) {
        if (!hook.map) continue;
        const MapSpec map = map_spec(config, hook, spec, columns, {});
        const std::int64_t height = TileGrid(map).tile_queries();
        auto held = static_cast<std::uint64_t>(map.heads * height * columns * float_bytes(spec));
        const auto first = static_cast<std::size_t>(batch.prompts.front());
        if (plan.positions[first].empty()) held += pyramid_held_bytes(map);
        tile_rows = std::max(tile_rows, static_cast<std::uint64_t>(rows) * held);
      }
    }
  }
  const std::uint64_t held = plan.layout == FileLayout::packed ? kInFlightBytes : 0;
  plan.memory.in_flight = kInFlightBytes + held + tile_rows;
}

}  // namespace

std::uint64_t activation_bytes(const ModelConfig& config, const CaptureSpec& spec,
                               const CapturePlan& plan, Engine engine, std::int64_t rows,
                               std::int64_t length) {
  const std::int64_t map_heads = most_map_heads(config, plan);
  std::int64_t widest = 0;
  for (const LayerConfig& layer : config.layers) {
    const AttentionSpec& a = layer.attention;
    const std::int64_t projections = std::int64_t{a.d_head} * (3 * a.n_heads + 2 * a.n_kv_heads);
    const std::int64_t mlp = std::int64_t{layer.d_mlp} * (config.mlp == MlpKind::gated ? 3 : 2);
    const std::int64_t attention = engine == Engine::cuda
                                       ? cuda_values(a, spec.top_k, map_heads, rows, length)
                                       : attention_values(a, engine, map_heads, rows, length);
    widest = std::max({widest, rows * length * projections + attention,
                       rows * mlp_positions(plan, length) * mlp});
  }
  std::int64_t values = rows * length * 6 * std::int64_t{config.d_model} + widest;
  if (keeps(plan, Site::logits)) values += rows * length * config.d_vocab_out;
  return static_cast<std::uint64_t>(values * std::max<std::int64_t>(4, compute_bytes(spec)));
}

bool keeps(const CapturePlan& plan, Site site) {
  return std::any_of(plan.hooks.begin(), plan.hooks.end(),
                     [site](const HookPlan& hook) { return hook.hook.site == site; });
}

double forward_flop(const ModelConfig& config, const CapturePlan& plan, std::int64_t tokens) {
  double per_token = 0;
  double per_pair = 0;
  for (int l = 0; l < plan.layers_computed; ++l) {
    const LayerConfig& layer = config.layers[static_cast<std::size_t>(l)];
    const AttentionSpec& a = layer.attention;
    per_token += layer_weights(config, layer);
    per_pair += 2.0 * a.n_heads * static_cast<double>(a.d_head);
  }
  if (keeps(plan, Site::logits))
    per_token += static_cast<double>(config.d_model) * config.d_vocab_out;
  const auto t = static_cast<double>(tokens);
  return 2 * (per_token * t + per_pair * t * t);
}

MapSpec map_spec(const ModelConfig& config, const HookPlan& hook, const CaptureSpec& spec,
                 std::int64_t tokens, const std::vector<int>& positions) {
  const AttentionSpec& attention =
      config.layers[static_cast<std::size_t>(hook.hook.layer)].attention;
  MapSpec map;
  map.kind = hook.hook.site == Site::pattern ? MapKind::pattern : MapKind::scores;
  map.heads = hook.heads.empty() ? attention.n_heads : static_cast<std::int64_t>(hook.heads.size());
  map.queries = positions.empty() ? tokens : static_cast<std::int64_t>(positions.size());
  map.keys = tokens;
  map.subset.heads.assign(hook.heads.begin(), hook.heads.end());
  map.subset.q_positions.assign(positions.begin(), positions.end());
  map.causal = attention.mask == MaskKind::causal;
  map.window = attention.window;
  if (map.kind == MapKind::scores) {
    map.dtype = MapDType::f32;
    map.row_sum = RowSum::free;
    return map;
  }
  switch (spec.map_format) {
    case MapFormat::r10:
      map.dtype = MapDType::r10;
      break;
    case MapFormat::f16:
      map.dtype = MapDType::f16;
      break;
    case MapFormat::f32:
      map.dtype = MapDType::f32;
      break;
  }
  map.floor = map.dtype == MapDType::r10 && tokens >= kFloorTokens ? Floor::on : Floor::off;
  if (attention.learned_sink) map.row_sum = RowSum::sink;
  if (attention.softmax_mix != 1.0) map.row_sum = RowSum::free;
  return map;
}

std::int64_t values_per_position(const ModelConfig& config, const HookPlan& hook) {
  const bool in_layer = hook.hook.layer >= 0;
  const LayerConfig layer =
      in_layer ? config.layers[static_cast<std::size_t>(hook.hook.layer)] : LayerConfig{};
  const AttentionSpec& a = layer.attention;
  const auto chosen = [&](int all) {
    return hook.heads.empty() ? std::int64_t{all} : static_cast<std::int64_t>(hook.heads.size());
  };
  switch (hook.hook.site) {
    case Site::q:
    case Site::rot_q:
    case Site::z:
      return chosen(a.n_heads) * a.d_head;
    case Site::k:
    case Site::v:
    case Site::rot_k:
      return chosen(a.n_kv_heads) * a.d_head;
    case Site::result:
      return chosen(a.n_heads) * config.d_model;
    case Site::ln1_scale:
    case Site::ln2_scale:
    case Site::ln_final_scale:
      return 1;
    case Site::mlp_pre:
    case Site::mlp_pre_linear:
    case Site::mlp_post:
      return layer.d_mlp;
    case Site::logits:
      return config.d_vocab_out;
    default:
      return config.d_model;
  }
}

std::uint64_t hook_bytes(const ModelConfig& config, const HookPlan& hook, const CaptureSpec& spec,
                         std::int64_t tokens, const std::vector<int>& positions) {
  if (hook.map) return map_bytes(map_spec(config, hook, spec, tokens, positions));
  const std::int64_t rows =
      positions.empty() ? tokens : static_cast<std::int64_t>(positions.size());
  return static_cast<std::uint64_t>(rows * values_per_position(config, hook) * float_bytes(spec));
}

std::uint64_t prompt_bytes(const ModelConfig& config, const CaptureSpec& spec,
                           const CapturePlan& plan, std::size_t prompt) {
  std::uint64_t total = 0;
  visit_sites(config, spec, plan, prompt,
              [&](const std::string&, std::uint64_t bytes, double) { total += bytes; });
  return total;
}

void estimate(const ModelConfig& config, const CaptureSpec& spec, CapturePlan& plan) {
  SiteTotals totals;
  const auto first = static_cast<std::size_t>(plan.part.first);
  for (std::size_t p = first; p < first + static_cast<std::size_t>(plan.part.count); ++p) {
    const auto tokens = static_cast<std::int64_t>(plan.prompts[p].size());
    plan.tokens += tokens;
    plan.flop += forward_flop(config, plan, tokens);
    visit_sites(config, spec, plan, p,
                [&](const std::string& site, std::uint64_t bytes, double ratio) {
                  totals.add(site, bytes, ratio);
                });
  }
  plan.sites = totals.largest_first();
  for (const SiteEstimate& site : plan.sites) plan.disk_bytes += site.disk_bytes;
  // The shards stay until the merged file is on disk.
  if (plan.shards.size() > 1) plan.disk_bytes *= 2;
  estimate_memory(config, spec, plan);
}

}  // namespace attnscope
