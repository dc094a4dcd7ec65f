// What reads the last residual: final norm and language-model head, masked-LM transform, or
// classifier.
#include <algorithm>
#include <string>

#include "attnscope/support/error.h"
#include "layers.h"

namespace attnscope {
namespace {

bool has_final_norm(const Run& run) {
  return run.config.final_norm && run.config.norm != NormKind::none;
}

at::Tensor final_norm(Run& run, const at::Tensor& x) {
  if (!has_final_norm(run)) return x;
  return normalize(run, run.model.final_norm, x,
                   NormSites{Site::ln_final_scale, Site::ln_final_normalized, -1});
}

// One output a row instead of one a position.
bool is_pooled(const ModelConfig& config) {
  return config.head == HeadKind::classifier && config.classifier != ClassifierKind::every_token;
}

int slot_of(const RowFrame& frame, int position) {
  const int last = frame.first + frame.q_length - 1;
  const int absolute = position < 0 ? last + 1 + position : position;
  if (absolute < frame.first || absolute > last) {
    throw Error(ErrorKind::input, "MO30",
                {.where = "logits",
                 .what = "position " + std::to_string(position) + " is outside the row",
                 .expected = std::to_string(frame.first) + " to " + std::to_string(last)});
  }
  return frame.slot(absolute);
}

// Slots of the positions that are asked, [b p].
at::Tensor wanted_slots(const Run& run, const std::vector<std::vector<int>>& positions) {
  const bool one_for_all = positions.size() == 1;
  if (!one_for_all && positions.size() != run.frames.size()) {
    throw Error(ErrorKind::input, "MO31",
                {.where = "logits",
                 .what = "lists of positions do not fit the batch",
                 .expected = "1 or " + std::to_string(run.frames.size()),
                 .got = std::to_string(positions.size())});
  }
  std::vector<std::int64_t> slots;
  for (std::size_t b = 0; b < run.frames.size(); ++b) {
    const std::vector<int>& row = positions[one_for_all ? 0 : b];
    if (row.empty() || row.size() != positions[0].size()) {
      throw Error(ErrorKind::input, "MO31",
                  {.where = "logits", .what = "lists of positions are empty or differ in length"});
    }
    for (const int position : row) slots.push_back(slot_of(run.frames[b], position));
  }
  return at::tensor(slots, at::TensorOptions(at::kLong))
      .view({static_cast<std::int64_t>(run.frames.size()), -1})
      .to(run.model.device);
}

at::Tensor slots_of_request(const Run& run) {
  const LogitsRequest& request = run.options.logits;
  return request.at == LogitsAt::last ? wanted_slots(run, {{-1}})
                                      : wanted_slots(run, request.positions);
}

// x [b q m] at slots [b p] → [b p m].
at::Tensor at_slots(const at::Tensor& x, const at::Tensor& slots) {
  return x.gather(1, slots.unsqueeze(-1).expand({-1, -1, x.size(-1)}));
}

bool some_positions(const Run& run) {
  if (run.narrowed()) return false;
  const LogitsAt at = run.options.logits.at;
  return at == LogitsAt::last || at == LogitsAt::positions;
}

at::Tensor wanted_columns(const Run& run) {
  const std::vector<std::int64_t>& columns = run.options.logits.columns;
  for (const std::int64_t column : columns) {
    if (column >= 0 && column < run.model.head.weight.size(0)) continue;
    throw Error(ErrorKind::input, "MO32",
                {.where = "logits",
                 .what = "column " + std::to_string(column) + " does not exist",
                 .expected = "0 to " + std::to_string(run.model.head.weight.size(0) - 1)});
  }
  return at::tensor(columns, at::TensorOptions(at::kLong)).to(run.model.device);
}

at::Tensor pooled_row(const Run& run, const at::Tensor& row) {
  if (!run.model.head_dense.defined()) return row;
  const at::Tensor dense = run.model.head_dense(row);
  return run.config.classifier == ClassifierKind::pooled_relu ? at::relu(dense) : at::tanh(dense);
}

// A classifier's view of the whole row [b 1 m].
at::Tensor pooled(Run& run, const at::Tensor& x) {
  const bool last = run.config.classifier == ClassifierKind::last_token;
  const bool suffix = std::any_of(run.frames.begin(), run.frames.end(),
                                  [](const RowFrame& frame) { return frame.first > 0; });
  if (run.narrowed()) return pooled_row(run, x);
  if (!last && suffix) {
    throw Error(ErrorKind::input, "MO33",
                {.where = "logits",
                 .what = "the classifier reads position 0, which this run does not compute"});
  }
  return pooled_row(run, at_slots(x, wanted_slots(run, {{last ? -1 : 0}})));
}

// The masked-LM transform; other heads read x as it is.
at::Tensor transformed(Run& run, const at::Tensor& x) {
  if (run.config.head != HeadKind::masked_lm || !run.model.head_dense.defined()) return x;
  const at::Tensor dense = activate(run.config.head_activation, run.model.head_dense(x));
  return run.config.head_norm ? normalize(run, run.model.head_norm, dense, std::nullopt) : dense;
}

at::Tensor unembed(const Run& run, const at::Tensor& x, const Linear& head) {
  at::Tensor logits = head(x);
  if (run.config.logit_multiplier != 1) logits = logits * run.config.logit_multiplier;
  if (run.config.final_softcap == 0) return logits;
  return soft_cap(logits, run.config.final_softcap);
}

Linear head_of_columns(const Run& run, const at::Tensor& columns) {
  const Linear& head = run.model.head;
  return {head.weight.index_select(0, columns),
          head.bias.defined() ? head.bias.index_select(0, columns) : head.bias};
}

// Logits that nobody taps: only where and of what they are asked.
at::Tensor wanted_logits(Run& run, at::Tensor x) {
  const bool norm_tapped = has_final_norm(run) && (run.used(Site::ln_final_scale, -1) ||
                                                   run.used(Site::ln_final_normalized, -1));
  const bool pool = is_pooled(run.config);
  if (!pool && !norm_tapped && some_positions(run)) x = at_slots(x, slots_of_request(run));
  x = final_norm(run, x);
  if (!pool && norm_tapped && some_positions(run)) x = at_slots(x, slots_of_request(run));
  x = pool ? pooled(run, x) : transformed(run, x);
  if (run.options.logits.columns.empty()) return unembed(run, x, run.model.head);
  return unembed(run, x, head_of_columns(run, wanted_columns(run)));
}

// Logits that are observed or changed: all of them, then what was asked.
at::Tensor tapped_logits(Run& run, const at::Tensor& residual) {
  const bool pool = is_pooled(run.config);
  const at::Tensor x = final_norm(run, residual);
  at::Tensor logits = unembed(run, pool ? pooled(run, x) : transformed(run, x), run.model.head);
  logits = run.tap(Site::logits, -1, logits);
  if (run.options.logits.at == LogitsAt::none) return {};
  if (!pool && some_positions(run)) logits = at_slots(logits, slots_of_request(run));
  if (run.options.logits.columns.empty()) return logits;
  return logits.index_select(-1, wanted_columns(run));
}

// Whether a hook of the last layer or behind it is used.
bool end_is_tapped(const Run& run) {
  const int last = run.config.n_layers - 1;
  for (const SiteInfo& info : all_sites()) {
    if (info.in_layer ? run.used(info.site, last) : run.used(info.site, -1)) {
      if (info.site != Site::embed && info.site != Site::pos_embed) return true;
    }
  }
  return false;
}

}  // namespace

void narrow_to_reads(Run& run) {
  const RunOptions& options = run.options;
  const bool asked = options.last_layer == LastLayer::read_positions && !run.differentiable();
  if (!asked || run.config.head == HeadKind::none || end_is_tapped(run)) return;
  at::Tensor slots;
  if (is_pooled(run.config)) {
    if (run.config.classifier != ClassifierKind::last_token) return;
    slots = wanted_slots(run, {{-1}});
  } else if (some_positions(run)) {
    slots = slots_of_request(run);
  }
  if (!slots.defined() || slots.size(1) != 1) return;
  run.key_frames = run.frames;
  const at::Tensor host = slots.cpu();
  for (std::size_t r = 0; r < run.frames.size(); ++r) {
    RowFrame& frame = run.frames[r];
    const auto slot = host.const_data_ptr<std::int64_t>()[r];
    frame.first += static_cast<int>(slot) - frame.q_start;
    frame.q_start = 0;
    frame.q_length = 1;
  }
  run.read_slots = slots;
}

void finish(Run& run, const at::Tensor& residual) {
  if (run.config.head == HeadKind::none) {
    run.result.hidden = final_norm(run, residual);
  } else if (run.used(Site::logits, -1)) {
    run.result.logits = tapped_logits(run, residual);
  } else if (run.options.logits.at != LogitsAt::none) {
    run.result.logits = wanted_logits(run, residual);
  } else if (run.used(Site::ln_final_scale, -1) || run.used(Site::ln_final_normalized, -1)) {
    final_norm(run, residual);
  }
}

}  // namespace attnscope
