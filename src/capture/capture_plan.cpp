#include "attnscope/capture/capture_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "attnscope/checkpoint/site_inventory.h"
#include "attnscope/data/positions.h"
#include "attnscope/sites/selectors.h"
#include "attnscope/spec/prompts.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "estimate.h"
#include "prompt_set.h"

namespace attnscope {
namespace {

enum class HeadAxis { none, query, kv };

HeadAxis head_axis(Site site) {
  switch (site) {
    case Site::q:
    case Site::rot_q:
    case Site::z:
    case Site::result:
    case Site::attn_scores:
    case Site::pattern:
      return HeadAxis::query;
    case Site::k:
    case Site::v:
    case Site::rot_k:
      return HeadAxis::kv;
    default:
      return HeadAxis::none;
  }
}

bool is_map(Site site) {
  return site == Site::pattern || site == Site::attn_scores;
}

std::vector<int> heads_per_layer(const ModelConfig& config) {
  std::vector<int> heads;
  for (int l = 0; l < config.n_layers; ++l) heads.push_back(config.n_heads(l));
  return heads;
}

// The kv heads that the chosen query heads read.
std::vector<int> kv_heads(const std::vector<int>& heads, const AttentionSpec& attention) {
  std::vector<int> out;
  const int group = attention.n_heads / attention.n_kv_heads;
  for (const int head : heads) {
    if (out.empty() || out.back() != head / group) out.push_back(head / group);
  }
  return out;
}

FileLayout choose_layout(LayoutChoice choice, std::size_t prompts) {
  if (choice == LayoutChoice::automatic) {
    return prompts > static_cast<std::size_t>(kMaxPromptGroups) ? FileLayout::packed
                                                                : FileLayout::per_prompt;
  }
  return choice == LayoutChoice::packed ? FileLayout::packed : FileLayout::per_prompt;
}

std::vector<HookPlan> select(const ModelConfig& config, const CaptureSpec& spec,
                             FileLayout layout) {
  std::string list = spec.hooks;
  if (spec.stats_only) return {};
  if (list.empty()) {
    if (layout == FileLayout::packed) return {};
    list = "pattern";
  }
  const std::vector<HookId> hooks = select_hooks(list, site_inventory(config), "--hooks");
  std::vector<int> layers(static_cast<std::size_t>(config.n_layers));
  std::iota(layers.begin(), layers.end(), 0);
  if (!spec.layers.empty()) layers = parse_ranges(spec.layers, config.n_layers, "--layers");
  std::map<int, std::vector<int>> chosen;
  if (!spec.heads.empty()) {
    for (const HeadId& head : parse_heads(spec.heads, heads_per_layer(config), "--heads")) {
      chosen[head.layer].push_back(head.head);
    }
  }
  std::vector<HookPlan> plans;
  for (const HookId& hook : hooks) {
    const HeadAxis axis = head_axis(hook.site);
    const bool in_layer = hook.layer >= 0;
    if (in_layer && !std::binary_search(layers.begin(), layers.end(), hook.layer)) continue;
    HookPlan plan{.hook = hook, .heads = {}, .map = is_map(hook.site)};
    if (axis != HeadAxis::none && !chosen.empty()) {
      const auto it = chosen.find(hook.layer);
      if (it == chosen.end()) continue;
      const AttentionSpec& a = config.layers[static_cast<std::size_t>(hook.layer)].attention;
      const bool kv = axis == HeadAxis::kv;
      plan.heads = kv ? kv_heads(it->second, a) : it->second;
      if (plan.heads.size() == static_cast<std::size_t>(kv ? a.n_kv_heads : a.n_heads)) {
        plan.heads.clear();
      }
    }
    plans.push_back(std::move(plan));
  }
  if (plans.empty()) {
    throw Error(ErrorKind::input, "CA12",
                {.where = "--hooks",
                 .what = "nothing is left to record after --layers and --heads",
                 .got = quote(list),
                 .next = "--stats-only records head statistics alone"});
  }
  return plans;
}

// Beside maps and activations the statistics of all layers are kept; alone, those that --layers
// names.
std::vector<int> statistics_layers(const ModelConfig& config, const CaptureSpec& spec) {
  if (spec.stats_only && !spec.layers.empty()) {
    return parse_ranges(spec.layers, config.n_layers, "--layers");
  }
  std::vector<int> layers(static_cast<std::size_t>(config.n_layers));
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

std::vector<int> resolve_positions(const EncodedPrompt& prompt, const CaptureSpec& spec) {
  if (spec.positions.empty()) return {};
  const std::string line = prompt.line > 0 ? prompt_place(spec.prompts, prompt.line) + ": " : "";
  std::vector<int> positions = positions_of(prompt, spec.positions, line + "--positions");
  if (positions.size() == prompt.size()) positions.clear();
  return positions;
}

// The size of a batch.
struct BatchLimits {
  std::int64_t tokens = 0;  // pads included
  int prompts = 0;          // 0 = any number
};

// Prompts of equal length run together first.
void add_batches(std::vector<int> window, const CapturePlan& plan, BatchLimits limits,
                 std::vector<BatchPlan>& batches) {
  const auto length = [&](int p) {
    return static_cast<std::int64_t>(plan.prompts[static_cast<std::size_t>(p)].size());
  };
  std::stable_sort(window.begin(), window.end(),
                   [&](int a, int b) { return length(a) < length(b); });
  BatchPlan batch;
  for (const int p : window) {
    const auto count = static_cast<std::int64_t>(batch.prompts.size()) + 1;
    const bool full =
        (limits.prompts > 0 && count > limits.prompts) || count * length(p) > limits.tokens;
    if (full && !batch.prompts.empty()) batches.push_back(std::exchange(batch, {}));
    batch.prompts.push_back(p);
  }
  if (!batch.prompts.empty()) batches.push_back(std::move(batch));
}

// Results of the packed layout are written in the order of the prompts, so those of a window wait
// in memory for each other. Other results are written as they come.
std::vector<std::vector<int>> cut_windows(const ModelConfig& config, const CaptureSpec& spec,
                                          const CapturePlan& plan, ShardRange range) {
  std::vector<std::vector<int>> windows;
  std::uint64_t bytes = 0;
  for (std::int64_t p = range.first; p < range.first + range.count; ++p) {
    const auto i = static_cast<std::size_t>(p);
    std::uint64_t own = 0;
    if (plan.layout == FileLayout::packed) {
      for (const HookPlan& hook : plan.hooks) {
        if (hook.map) continue;
        own += hook_bytes(config, hook, spec, static_cast<std::int64_t>(plan.prompts[i].size()),
                          plan.positions[i]);
      }
    }
    if (windows.empty() || bytes + own > kInFlightBytes) {
      windows.emplace_back();
      bytes = 0;
    }
    bytes += own;
    windows.back().push_back(static_cast<int>(p));
  }
  return windows;
}

void cut_shards(const ModelConfig& config, const CaptureSpec& spec, const PlanLimits& limits,
                CapturePlan& plan) {
  double work = 0;
  std::uint64_t bytes = 0;
  for (std::size_t p = 0; p < plan.prompts.size(); ++p) {
    const double own_work =
        forward_flop(config, plan, static_cast<std::int64_t>(plan.prompts[p].size()));
    const std::uint64_t own_bytes = prompt_bytes(config, spec, plan, p);
    if (plan.shards.empty() || work + own_work > limits.shard_flop ||
        bytes + own_bytes > limits.shard_bytes) {
      plan.shards.push_back({.range = {static_cast<std::int64_t>(p), 0}, .batches = {}});
      work = 0;
      bytes = 0;
    }
    work += own_work;
    bytes += own_bytes;
    ++plan.shards.back().range.count;
  }
  for (ShardPlan& shard : plan.shards) {
    for (std::vector<int>& window : cut_windows(config, spec, plan, shard.range)) {
      add_batches(std::move(window), plan, {limits.batch_tokens, spec.compute.batch},
                  shard.batches);
    }
  }
}

// Where part i of N begins among `count` things.
std::int64_t cut(std::size_t count, int i, int parts) {
  return static_cast<std::int64_t>(count * static_cast<std::size_t>(i) /
                                   static_cast<std::size_t>(parts));
}

// The parts of a run together must be the run, to the last bit, and that depends on which prompts
// share a batch. So every part makes the plan of the whole run and keeps some of it: whole shards
// where there are enough of them, else some prompts, whose batches then run whole.
void keep_part(const ShardChoice& choice, CapturePlan& plan) {
  const std::size_t prompts = plan.prompts.size();
  plan.part = {0, static_cast<std::int64_t>(prompts)};
  if (choice.count == 1) return;
  if (static_cast<std::size_t>(choice.count) > prompts) {
    throw Error(ErrorKind::input, "CA11",
                {.where = "--shard",
                 .what = "some parts would have no prompts",
                 .expected = "at most " + count_of(prompts, "part"),
                 .got = std::to_string(choice.count)});
  }
  std::int64_t begin = cut(prompts, choice.index - 1, choice.count);
  std::int64_t end = cut(prompts, choice.index, choice.count);
  const std::size_t shards = plan.shards.size();
  if (shards >= static_cast<std::size_t>(choice.count)) {
    const auto first_of = [&](int i) {
      const auto shard = static_cast<std::size_t>(cut(shards, i, choice.count));
      return shard == shards ? static_cast<std::int64_t>(prompts) : plan.shards[shard].range.first;
    };
    begin = first_of(choice.index - 1);
    end = first_of(choice.index);
  }
  plan.part = {begin, end - begin};
  std::vector<ShardPlan> kept;
  for (ShardPlan& shard : plan.shards) {
    const std::int64_t first = std::max(begin, shard.range.first);
    const std::int64_t last = std::min(end, shard.range.first + shard.range.count);
    if (first >= last) continue;
    shard.range = {first, last - first};
    std::erase_if(shard.batches, [&](const BatchPlan& batch) {
      return std::none_of(batch.prompts.begin(), batch.prompts.end(),
                          [&](int p) { return p >= first && p < last; });
    });
    kept.push_back(std::move(shard));
  }
  plan.shards = std::move(kept);
}

std::string advice(const SiteEstimate& largest) {
  if (largest.site == site_info(Site::pattern).name ||
      largest.site == site_info(Site::attn_scores).name || largest.site == "pyramid") {
    return "keep fewer maps with --layers, --heads or --positions, or use --stats-only";
  }
  if (largest.site == "statistics") return "use --layout packed, or split the prompts by --shard";
  return "keep less with --hooks, --layers or --positions";
}

void check_budget(const CaptureSpec& spec, const CapturePlan& plan) {
  const std::uint64_t budget = spec.compute.budget;
  if (budget == 0) return;
  const auto refuse = [&](const char* what, std::uint64_t bytes, std::string next) {
    throw Error(ErrorKind::limit, "CA20",
                {.where = "--budget",
                 .what = what,
                 .expected = "at most " + format_bytes(budget),
                 .got = format_bytes(bytes),
                 .next = std::move(next)});
  };
  if (plan.disk_bytes > budget) {
    const SiteEstimate& largest = plan.sites.front();
    refuse("the result would need more disk than the budget", plan.disk_bytes,
           "the largest site is " + largest.site + " with " + format_bytes(largest.disk_bytes) +
               ": " + advice(largest));
  }
  if (plan.memory.total() > budget) {
    refuse("the run would need more memory than the budget", plan.memory.total(),
           "weights take " + format_bytes(plan.memory.weights) + ", activations " +
               format_bytes(plan.memory.activations) + ": use shorter prompts or --batch 1");
  }
}

}  // namespace

CapturePlan plan_capture(const ModelConfig& config, std::vector<EncodedPrompt> prompts,
                         const CaptureSpec& spec, const PlanLimits& limits) {
  CapturePlan plan;
  plan.prompts = std::move(prompts);
  plan.layout = choose_layout(spec.layout, plan.prompts.size());
  plan.hooks = select(config, spec, plan.layout);
  const bool maps = std::any_of(plan.hooks.begin(), plan.hooks.end(),
                                [](const HookPlan& hook) { return hook.map; });
  plan.all_tables = plan.layout == FileLayout::per_prompt || maps;
  plan.statistics_layers = statistics_layers(config, spec);
  plan.layers_computed = plan.statistics_layers.back() + 1;
  for (const EncodedPrompt& prompt : plan.prompts) {
    const std::string where = prompt_place(spec.prompts, prompt.line);
    check_prompt(config, prompt, long_prompts(spec), where);
    plan.positions.push_back(resolve_positions(prompt, spec));
  }
  cut_shards(config, spec, limits, plan);
  keep_part(spec.shard, plan);
  estimate(config, spec, plan);
  check_budget(spec, plan);
  return plan;
}

}  // namespace attnscope
