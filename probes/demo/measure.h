// What the demo measures with the runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/probes/demo.h"

namespace attnscope::demo {

// The next token as the model sees it.
struct NextToken {
  std::int64_t id = 0;
  double probability = 0;
};

// The most likely next token after `ids`.
NextToken most_likely(const Model& model, const std::vector<std::int64_t>& ids);
double probability_of(const Model& model, const std::vector<std::int64_t>& ids, std::int64_t next);

// How well a run did, from its logits [1 q v] of every position.
using Metric = std::function<double(const at::Tensor&)>;

// logit(answer) − logit(other) at the last position.
Metric logit_difference(std::int64_t answer, std::int64_t other);

// Every head of the model on one prompt: its attention, and the metric with its z set to zero.
std::vector<DemoHead> measure_heads(const Model& model, const std::vector<std::int64_t>& ids,
                                    const Metric& metric);

// Heads with more than half of their attention on what followed an earlier copy.
std::vector<HeadId> induction_heads(const std::vector<DemoHead>& heads);

// The metric with z of all these heads set to zero at once.
double silence_together(const Model& model, const std::vector<std::int64_t>& ids,
                        const std::vector<HeadId>& heads, const Metric& metric);

// The head that looks hardest from `query` at `key`, and how hard.
struct Look {
  HeadId head;
  double weight = 0;
};
Look hardest_look(const Model& model, const std::vector<std::int64_t>& ids, int query, int key);

const DemoHead& loudest(const std::vector<DemoHead>& heads);
const DemoHead& best_induction(const std::vector<DemoHead>& heads);

}  // namespace attnscope::demo
