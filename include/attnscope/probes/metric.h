// File: metric.h
// One number of a run: what experiments measure. Definitions: probes/sweep/README.md.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/model/run_options.h"
#include "attnscope/spec/choices.h"

namespace attnscope {

// What the metric reads of one prompt. Lists of answers count by their mean.
struct MetricTarget {
  // Positions that are read; several count by their mean. Empty: the last one; of loss (predictions
  // made at these positions) and embedding shift all.
  std::vector<int> at;
  std::vector<std::int64_t> answers;
  std::vector<std::int64_t> wrongs;
  // A second logit difference that the prompt has nothing to do with; empty = none.
  std::vector<std::int64_t> placebo_answers;
  std::vector<std::int64_t> placebo_wrongs;
  std::int64_t label = 0;  // classifiers
};

struct MetricValue {
  double value = 0;
  double placebo = 0;
};

// Throws Error ME10 (exit 2) when the model cannot give the metric: no head, no classifier, no next
// token.
void check_metric(MetricChoice metric, const ModelConfig& config);

// What the logits of a run hold.
enum class LogitsCoverage : std::uint8_t {
  asked,  // what request() asks for
  all,    // all positions and the whole vocabulary
};

// The metric of every row of one run. Rows of the run belong to prompts; `targets[r]` is of row r.
class MetricReader {
 public:
  // `targets` must outlive the reader. Throws what check_metric() throws.
  MetricReader(MetricChoice metric, std::vector<const MetricTarget*> targets,
               const ModelConfig& config, LogitsCoverage coverage = LogitsCoverage::asked);

  // What to ask of the run.
  LogitsRequest request() const;
  // `clean[r]` is what capture_clean() gave for row r's prompt; null where the metric needs none.
  std::vector<MetricValue> read(const RunResult& result, const Batch& batch,
                                const std::vector<const at::Tensor*>& clean) const;
  // What later runs of the same prompt are compared with, for row r of a clean run.
  at::Tensor capture_clean(const RunResult& result, const Batch& batch, int row) const;

 private:
  MetricValue read_row(const at::Tensor& row, const MetricTarget& target,
                       const at::Tensor* clean) const;
  at::Tensor row_of(const RunResult& result, const Batch& batch, int row) const;
  at::Tensor asked_part(const at::Tensor& logits, RowSpan span, const std::vector<int>& at) const;

  MetricChoice metric_;
  std::vector<const MetricTarget*> targets_;
  const ModelConfig& config_;
  LogitsCoverage coverage_;
  std::vector<std::int64_t> columns_;  // sorted; empty = all
};

}  // namespace attnscope
