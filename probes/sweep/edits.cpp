#include "edits.h"

#include <ATen/ATen.h>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

bool is_map(Site site) {
  return site == Site::attn_scores || site == Site::pattern;
}

at::Tensor indices(const std::vector<int>& list, std::int64_t size) {
  std::vector<std::int64_t> values;
  for (const int i : list) values.push_back(i < 0 ? size + i : i);
  return at::tensor(values, at::TensorOptions(at::kLong));
}

at::Tensor chosen(const at::Tensor& x, std::int64_t axis, const std::vector<int>& list) {
  if (list.empty()) return x;
  if (list.size() == 1) {
    const std::int64_t i = list[0] < 0 ? x.size(axis) + list[0] : list[0];
    return x.narrow(axis, i, 1);
  }
  return x.index_select(axis, indices(list, x.size(axis)).to(x.device()));
}

// Axes of one row of a site: positions come first, except in maps [h q k].
at::Tensor selected_part(const at::Tensor& row, const Edit& edit, const SweepPrompt& prompt) {
  if (is_map(edit.hook.site)) {
    return chosen(chosen(chosen(row, 0, edit.heads), 1, q_positions_of(edit, prompt)), 2,
                  k_positions_of(edit, prompt));
  }
  return chosen(chosen(row, 0, q_positions_of(edit, prompt)), 1, edit.heads);
}

// Writes `part` back over what selected_part gives.
void write_selected(const at::Tensor& row, const Edit& edit, const SweepPrompt& prompt,
                    const at::Tensor& part) {
  const std::vector<int>& positions = q_positions_of(edit, prompt);
  const auto write_heads = [&](const at::Tensor& into, const at::Tensor& from) {
    if (edit.heads.empty()) {
      into.copy_(from);
      return;
    }
    for (std::size_t i = 0; i < edit.heads.size(); ++i) {
      into.select(1, edit.heads[i]).copy_(from.select(1, static_cast<std::int64_t>(i)));
    }
  };
  if (positions.empty()) {
    write_heads(row, part);
    return;
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t p = positions[i] < 0 ? row.size(0) + positions[i] : positions[i];
    write_heads(row.narrow(0, p, 1), part.narrow(0, static_cast<std::int64_t>(i), 1));
  }
}

}  // namespace

const std::vector<int>& q_positions_of(const Edit& edit, const SweepPrompt& prompt) {
  if (edit.q_set < 0) return edit.q_positions;
  return prompt.position_sets[static_cast<std::size_t>(edit.q_set)];
}

const std::vector<int>& k_positions_of(const Edit& edit, const SweepPrompt& prompt) {
  if (edit.k_set < 0) return edit.k_positions;
  return prompt.position_sets[static_cast<std::size_t>(edit.k_set)];
}

at::Tensor new_value(const Edit& edit, const SweepPrompt& prompt, const BaseRun& base, int row) {
  switch (edit.source) {
    case ValueSource::constant:
      return edit.value;
    case ValueSource::by_position:
      return chosen(edit.value, 0, q_positions_of(edit, prompt));
    case ValueSource::donor:
      return selected_part(
          base.donors[static_cast<std::size_t>(edit.donor)]->values().at(edit.hook).select(0, row),
          edit, prompt);
    case ValueSource::none:
    case ValueSource::noise:
      break;
  }
  return {};
}

void apply_edit(at::Tensor row, const Edit& edit, const SweepPrompt& prompt, const BaseRun& base,
                int base_row) {
  const at::Tensor old = selected_part(row, edit, prompt).clone();
  const at::Tensor value = new_value(edit, prompt, base, base_row);
  at::Tensor changed;
  switch (edit.operation) {
    case Operation::zero:
      changed = at::zeros_like(old);
      break;
    case Operation::set:
      changed = value.to(old.options()).expand_as(old);
      break;
    case Operation::add:
      changed = old + value.to(old.options());
      break;
    case Operation::scale:
      changed = old * edit.factor;
      break;
    case Operation::copy_from_row:
    case Operation::minus_infinity:
    case Operation::uniform:
      throw Error(ErrorKind::internal, "SW91",
                  {.where = hook_name(edit.hook), .what = "an operation that a value cannot have"});
  }
  write_selected(row, edit, prompt, changed);
}

Intervention as_intervention(const Edit& edit, const SweepPrompt& prompt, const BaseRun& base,
                             int base_row, int batch_row) {
  return {.hook = edit.hook,
          .operation = edit.operation,
          .rows = {batch_row},
          .heads = edit.heads,
          .q_positions = q_positions_of(edit, prompt),
          .k_positions = k_positions_of(edit, prompt),
          .value = new_value(edit, prompt, base, base_row),
          .factor = edit.factor};
}

}  // namespace attnscope
