#include "measure.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/capture/memory_sink.h"

namespace attnscope::demo {
namespace {

at::Tensor last_logits(const Model& model, const std::vector<std::int64_t>& ids) {
  const RunOptions options{.logits = {.at = LogitsAt::last}};
  return model.run(make_batch({{.ids = ids}}), {}, options).logits.flatten().to(at::kDouble);
}

at::Tensor all_logits(const Model& model, const Batch& batch, const Taps& taps) {
  const RunOptions options{.logits = {.at = LogitsAt::all}};
  return model.run(batch, taps, options).logits;
}

// The largest share of a head's attention that one key receives.
double loudness_of(const AttentionStatistics& statistics, int head) {
  const auto keys = static_cast<std::size_t>(statistics.n_keys);
  const auto first = statistics.key_sum.begin() +
                     static_cast<std::ptrdiff_t>(static_cast<std::size_t>(head) * keys);
  return *std::max_element(first, first + static_cast<std::ptrdiff_t>(keys)) /
         static_cast<double>(statistics.n_queries);
}

double induction_of(const AttentionStatistics& statistics, int head) {
  return statistics.head_stats[static_cast<std::size_t>(head * kHeadStatCount +
                                                        static_cast<int>(HeadStat::induction))];
}

Taps silence(const std::vector<HeadId>& heads) {
  Taps taps;
  for (const HeadId head : heads) {
    taps.interventions.push_back({.hook = {Site::z, head.layer, head.stack},
                                  .operation = Operation::zero,
                                  .heads = {head.head}});
  }
  return taps;
}

template <typename Value>
const DemoHead& largest(const std::vector<DemoHead>& heads, Value value) {
  return *std::max_element(heads.begin(), heads.end(), [&](const DemoHead& a, const DemoHead& b) {
    const double left = value(a), right = value(b);
    return std::isnan(left) ? !std::isnan(right) : left < right;
  });
}

}  // namespace

NextToken most_likely(const Model& model, const std::vector<std::int64_t>& ids) {
  const at::Tensor probabilities = last_logits(model, ids).softmax(0);
  const auto id = probabilities.argmax().item<std::int64_t>();
  return {.id = id, .probability = probabilities[id].item<double>()};
}

double probability_of(const Model& model, const std::vector<std::int64_t>& ids, std::int64_t next) {
  return last_logits(model, ids).softmax(0)[next].item<double>();
}

Metric logit_difference(std::int64_t answer, std::int64_t other) {
  return [answer, other](const at::Tensor& logits) {
    const at::Tensor last = logits[0][-1].to(at::kDouble);
    return (last[answer] - last[other]).item<double>();
  };
}

std::vector<DemoHead> measure_heads(const Model& model, const std::vector<std::int64_t>& ids,
                                    const Metric& metric) {
  const Batch batch = make_batch({{.ids = ids}});
  const MemoryCapture seen = capture_to_memory(model, batch, "pattern");
  const double before = metric(seen.result.logits);
  std::vector<DemoHead> heads;
  for (int layer = 0; layer < model.config().n_layers; ++layer) {
    const AttentionStatistics& statistics = seen.statistics.at({Site::pattern, layer}).front();
    for (int head = 0; head < model.config().n_heads(layer); ++head) {
      const HeadId id{.layer = layer, .head = head};
      heads.push_back({.head = id,
                       .loudness = loudness_of(statistics, head),
                       .induction = induction_of(statistics, head),
                       .before = before,
                       .after = metric(all_logits(model, batch, silence({id})))});
    }
  }
  return heads;
}

std::vector<HeadId> induction_heads(const std::vector<DemoHead>& heads) {
  std::vector<HeadId> found;
  for (const DemoHead& head : heads) {
    if (head.induction > 0.5) found.push_back(head.head);
  }
  return found;
}

double silence_together(const Model& model, const std::vector<std::int64_t>& ids,
                        const std::vector<HeadId>& heads, const Metric& metric) {
  return metric(all_logits(model, make_batch({{.ids = ids}}), silence(heads)));
}

Look hardest_look(const Model& model, const std::vector<std::int64_t>& ids, int query, int key) {
  const MemoryCapture seen = capture_to_memory(model, make_batch({{.ids = ids}}), "pattern");
  Look look;
  for (const auto& [hook, maps] : seen.values) {
    for (std::int64_t head = 0; head < maps.size(1); ++head) {
      const double weight = maps[0][head][query][key].item<double>();
      if (weight > look.weight) {
        look = {.head = {.layer = hook.layer, .head = static_cast<int>(head)}, .weight = weight};
      }
    }
  }
  return look;
}

const DemoHead& loudest(const std::vector<DemoHead>& heads) {
  return largest(heads, [](const DemoHead& head) { return head.loudness; });
}

const DemoHead& best_induction(const std::vector<DemoHead>& heads) {
  return largest(heads, [](const DemoHead& head) { return head.induction; });
}

}  // namespace attnscope::demo
