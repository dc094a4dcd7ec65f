#include "attnscope/probes/metric.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

// Few columns make a product that treats equal rows in different ways (probes/sweep/README.md).
constexpr std::int64_t kFewestColumns = 24;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// Metrics that read a few logits only; the others need a whole distribution.
bool reads_columns(MetricChoice metric) {
  return metric == MetricChoice::logit_diff || metric == MetricChoice::label_logit;
}

// `columns` and as many of the first others as a product needs; sorted, without duplicates.
void fill_up(std::vector<std::int64_t>& columns, std::int64_t d_vocab) {
  for (std::int64_t next = 0; next < std::min(kFewestColumns, d_vocab); ++next) {
    if (static_cast<std::int64_t>(columns.size()) >= kFewestColumns) break;
    const auto place = std::lower_bound(columns.begin(), columns.end(), next);
    if (place == columns.end() || *place != next) columns.insert(place, next);
  }
}

bool is_pooled(const ModelConfig& config) {
  return config.head == HeadKind::classifier && config.classifier != ClassifierKind::every_token;
}

[[noreturn]] void fail_metric(const std::string& what, const std::string& next) {
  throw Error(ErrorKind::input, "ME10", {.where = "--metric", .what = what, .next = next});
}

}  // namespace

void check_metric(MetricChoice metric, const ModelConfig& config) {
  const bool embedding = metric == MetricChoice::embedding_shift;
  const bool label = metric == MetricChoice::label_logit;
  if (config.head == HeadKind::none && !embedding) {
    fail_metric("this model has no head that gives logits", "use --metric embedding-shift");
  }
  if (config.head != HeadKind::none && embedding) {
    fail_metric("embedding-shift is for encoders without a head", "use a metric of the logits");
  }
  if (config.head == HeadKind::classifier && !label) {
    fail_metric("this model is a classifier", "use --metric label-logit");
  }
  if (config.head != HeadKind::classifier && label) {
    fail_metric("label-logit is for classifiers", "use --metric logit-diff");
  }
  if (metric == MetricChoice::loss && config.layers[0].attention.mask != MaskKind::causal) {
    fail_metric("the loss of next tokens needs a causal model", "use --metric log-prob");
  }
}

namespace {

double mean_of(const at::Tensor& row, const std::vector<std::int64_t>& columns,
               const std::vector<std::int64_t>& stored) {
  const double* values = row.const_data_ptr<double>();
  double sum = 0;
  for (const std::int64_t column : columns) {
    const auto place =
        stored.empty() ? static_cast<std::ptrdiff_t>(column)
                       : std::lower_bound(stored.begin(), stored.end(), column) - stored.begin();
    sum += values[place];
  }
  return sum / static_cast<double>(columns.size());
}

// Of NaN no comparison holds, and beside +inf nothing has a probability: a metric that compares
// would say that nothing changed.
bool can_be_compared(const at::Tensor& row) {
  const double* values = row.const_data_ptr<double>();
  return std::none_of(values, values + row.numel(), [](double v) {
    return std::isnan(v) || v == std::numeric_limits<double>::infinity();
  });
}

// Tokens that the model prefers to the answer it prefers most.
double rank_of(const at::Tensor& logits, const std::vector<std::int64_t>& answers) {
  if (!can_be_compared(logits)) return kNoNumber;
  const double* values = logits.const_data_ptr<double>();
  double best = -std::numeric_limits<double>::infinity();
  for (const std::int64_t answer : answers) best = std::max(best, values[answer]);
  return static_cast<double>(
      std::count_if(values, values + logits.numel(), [&](double v) { return v > best; }));
}

// The loss of a prompt: of all its next tokens, or of those of the positions `at`. A resumed run
// has the losses of its own positions; those before it are the clean ones.
double loss_of(const at::Tensor& row, const at::Tensor* clean, const std::vector<int>& at) {
  const std::int64_t before = clean != nullptr ? clean->size(0) - row.size(0) : 0;
  const at::Tensor all =
      before > 0 ? at::cat({clean->narrow(0, 0, before), row}).contiguous() : row.contiguous();
  if (at.empty()) return all.mean().item<double>();
  double sum = 0;
  for (const int position : at) {
    const std::int64_t n = all.size(0) + 1;
    const std::int64_t p = position < 0 ? n + position : position;
    if (p >= n - 1) fail_metric("the last token has no next one to be predicted", "see --at");
    sum += all.const_data_ptr<double>()[p];
  }
  return sum / static_cast<double>(at.size());
}

// 1 where the first choice is another.
double top1_change(const at::Tensor& log_p, const at::Tensor& log_q) {
  if (!can_be_compared(log_p) || !can_be_compared(log_q)) return kNoNumber;
  return log_p.argmax().item<std::int64_t>() == log_q.argmax().item<std::int64_t>() ? 0 : 1;
}

// KL(p ‖ q) in nats from log-probabilities; terms with p = 0 are 0, NaN stays NaN.
double kl_divergence(const at::Tensor& log_p, const at::Tensor& log_q) {
  const at::Tensor p = log_p.exp();
  return at::where(p == 0, at::zeros_like(p), p * (log_p - log_q)).sum().item<double>();
}

double total_variation(const at::Tensor& log_p, const at::Tensor& log_q) {
  return 0.5 * (log_p.exp() - log_q.exp()).abs().sum().item<double>();
}

// −log p of each next token; `logits` [q v] of the positions from `first` on, `ids` of the same.
at::Tensor next_token_losses(const at::Tensor& logits, const at::Tensor& ids) {
  const std::int64_t n = logits.size(0) - 1;
  const at::Tensor log_p = at::log_softmax(logits.narrow(0, 0, n), -1);
  return log_p.gather(1, ids.narrow(0, 1, n).unsqueeze(1)).squeeze(1).neg();
}

}  // namespace

MetricReader::MetricReader(MetricChoice metric, std::vector<const MetricTarget*> targets,
                           const ModelConfig& config, LogitsCoverage coverage)
    : metric_(metric), targets_(std::move(targets)), config_(config), coverage_(coverage) {
  check_metric(metric, config);
  if (!reads_columns(metric)) return;
  for (const MetricTarget* target : targets_) {
    if (metric == MetricChoice::label_logit) {
      columns_.push_back(target->label);
      continue;
    }
    for (const auto* list :
         {&target->answers, &target->wrongs, &target->placebo_answers, &target->placebo_wrongs}) {
      columns_.insert(columns_.end(), list->begin(), list->end());
    }
  }
  std::sort(columns_.begin(), columns_.end());
  columns_.erase(std::unique(columns_.begin(), columns_.end()), columns_.end());
  fill_up(columns_, config.d_vocab_out);
}

LogitsRequest MetricReader::request() const {
  if (metric_ == MetricChoice::embedding_shift) return {.at = LogitsAt::none};
  if (metric_ == MetricChoice::loss || coverage_ == LogitsCoverage::all) {
    return {.at = LogitsAt::all};
  }
  if (is_pooled(config_)) return {.at = LogitsAt::last, .columns = columns_};
  std::size_t most = 1;
  for (const MetricTarget* target : targets_) most = std::max(most, target->at.size());
  LogitsRequest request = {.at = LogitsAt::positions, .columns = columns_};
  for (const MetricTarget* target : targets_) {
    std::vector<int> at = target->at.empty() ? std::vector<int>{-1} : target->at;
    at.resize(most, at.back());
    request.positions.push_back(std::move(at));
  }
  return request;
}

// What the metric is made of, in double: logits [p c], losses [q], or an embedding [m].
at::Tensor MetricReader::row_of(const RunResult& result, const Batch& batch, int row) const {
  if (metric_ == MetricChoice::embedding_shift) {
    const at::Tensor hidden = unpadded(result.hidden, batch, row).to(at::kDouble);
    const std::vector<int>& at = targets_[static_cast<std::size_t>(row)]->at;
    if (at.empty()) return hidden.mean(0);
    at::Tensor sum = at::zeros({hidden.size(1)}, hidden.options());
    for (const int p : at) sum += hidden[p < 0 ? hidden.size(0) + p : p];
    return sum / static_cast<double>(at.size());
  }
  if (metric_ == MetricChoice::loss) {
    return next_token_losses(unpadded(result.logits, batch, row).to(at::kDouble),
                             unpadded(batch.ids, batch, row));
  }
  at::Tensor logits = result.logits.select(0, row);
  if (coverage_ == LogitsCoverage::all) {
    logits = asked_part(logits, batch.rows[static_cast<std::size_t>(row)],
                        targets_[static_cast<std::size_t>(row)]->at);
  }
  logits = logits.to(at::kDouble);
  return metric_ == MetricChoice::logit_diff || metric_ == MetricChoice::rank ||
                 metric_ == MetricChoice::label_logit
             ? logits.contiguous()
             : at::log_softmax(logits, -1).contiguous();
}

// Logits [p c] that request() would have given, of a row's logits [q v].
at::Tensor MetricReader::asked_part(const at::Tensor& logits, RowSpan span,
                                    const std::vector<int>& at) const {
  at::Tensor part = logits;
  if (!is_pooled(config_)) {
    std::vector<std::int64_t> slots;
    for (const int p : at.empty() ? std::vector<int>{-1} : at) {
      slots.push_back(span.start + (p < 0 ? span.length + p : p));
    }
    part = part.index_select(0, at::tensor(slots, at::TensorOptions(at::kLong)));
  }
  if (columns_.empty()) return part;
  return part.index_select(-1, at::tensor(columns_, at::TensorOptions(at::kLong)));
}

at::Tensor MetricReader::capture_clean(const RunResult& result, const Batch& batch, int row) const {
  if (!is_divergence(metric_) && metric_ != MetricChoice::loss) return {};
  return row_of(result, batch, row);
}

MetricValue MetricReader::read_row(const at::Tensor& row, const MetricTarget& target,
                                   const at::Tensor* clean) const {
  MetricValue sum;
  if (metric_ == MetricChoice::embedding_shift) {
    sum.value = 1 - at::cosine_similarity(row, *clean, 0, 0).item<double>();
    return sum;
  }
  if (metric_ == MetricChoice::loss) {
    sum.value = loss_of(row, clean, target.at);
    return sum;
  }
  const std::int64_t n =
      is_pooled(config_) ? 1
                         : std::max<std::int64_t>(1, static_cast<std::int64_t>(target.at.size()));
  for (std::int64_t p = 0; p < n; ++p) {
    const at::Tensor values = row[p];
    switch (metric_) {
      case MetricChoice::logit_diff:
        sum.value += mean_of(values, target.answers, columns_);
        if (!target.wrongs.empty()) sum.value -= mean_of(values, target.wrongs, columns_);
        if (!target.placebo_answers.empty()) {
          sum.placebo += mean_of(values, target.placebo_answers, columns_) -
                         mean_of(values, target.placebo_wrongs, columns_);
        }
        break;
      case MetricChoice::label_logit:
        sum.value += mean_of(values, {target.label}, columns_);
        break;
      case MetricChoice::log_prob:
        sum.value += mean_of(values, target.answers, {});
        break;
      case MetricChoice::prob:
        sum.value += mean_of(values.exp(), target.answers, {});
        break;
      case MetricChoice::rank:
        sum.value += rank_of(values, target.answers);
        break;
      case MetricChoice::kl:
        sum.value += kl_divergence((*clean)[p], values);
        break;
      case MetricChoice::total_variation:
        sum.value += total_variation((*clean)[p], values);
        break;
      case MetricChoice::top1_change:
        sum.value += top1_change((*clean)[p], values);
        break;
      case MetricChoice::loss:
      case MetricChoice::embedding_shift:
        break;
    }
  }
  sum.value /= static_cast<double>(n);
  sum.placebo /= static_cast<double>(n);
  return sum;
}

std::vector<MetricValue> MetricReader::read(const RunResult& result, const Batch& batch,
                                            const std::vector<const at::Tensor*>& clean) const {
  std::vector<MetricValue> values;
  for (std::size_t r = 0; r < targets_.size(); ++r) {
    const at::Tensor* compared = clean.empty() ? nullptr : clean[r];
    values.push_back(read_row(row_of(result, batch, static_cast<int>(r)), *targets_[r], compared));
  }
  return values;
}

}  // namespace attnscope
