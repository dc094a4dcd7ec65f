#include "intervention.h"

#include <limits>

#include "attnscope/core/shape_check.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

// The intervention's value for one row, before it is broadcast to the selected entries.
at::Tensor value_of_row(const Intervention& intervention, const Target& target,
                        const RowPart& part) {
  const at::Tensor& value = intervention.value;
  if (value.sizes() == at::IntArrayRef(target.site_shape)) {
    return read_part(value.select(0, part.row), part.in_site);
  }
  at::Tensor row = value;
  if (value.dim() == static_cast<std::int64_t>(target.site_shape.size())) {
    row = value.select(0, value.size(0) == 1 ? 0 : part.ordinal);
  }
  const std::int64_t queries = part.q_selected;
  if (queries > 1 && row.dim() >= 2 && row.size(-2) == queries) {
    row = row.narrow(-2, part.q_before, part.in_target[1].count());
  }
  return row;
}

at::Tensor broadcast_value(const Intervention& intervention, const Target& target,
                           const RowPart& part, const at::Tensor& old) {
  const at::Tensor& value = intervention.value;
  const auto fail = [&] {
    throw Error(ErrorKind::input, "CO58",
                {.where = target.name,
                 .what = "the intervention's value does not fit the part it changes",
                 .expected = "a shape that broadcasts to " + shape_text(old.sizes()) + ", or " +
                             shape_text(target.site_shape),
                 .got = value.defined() ? shape_text(value.sizes()) : "no value"});
  };
  if (!value.defined()) fail();
  const bool per_row = value.dim() == static_cast<std::int64_t>(target.site_shape.size()) &&
                       value.sizes() != at::IntArrayRef(target.site_shape);
  if (per_row && value.size(0) != 1 && part.ordinal >= value.size(0)) fail();
  const at::Tensor row = value_of_row(intervention, target, part).to(old.options());
  if (row.dim() > old.dim()) fail();
  for (std::int64_t axis = 1; axis <= row.dim(); ++axis) {
    if (row.size(-axis) != 1 && row.size(-axis) != old.size(-axis)) fail();
  }
  return row.expand_as(old);
}

// The same entries of the source row, as they were before any change.
at::Tensor source_part(const Intervention& intervention, const Target& target, const RowPart& part,
                       const at::Tensor& old) {
  const at::Tensor source =
      read_part(target.original.select(0, intervention.source_row), part.in_source_row);
  if (source.sizes() == old.sizes()) return source;
  throw Error(ErrorKind::input, "CO59",
              {.where = target.name,
               .what = "row " + std::to_string(intervention.source_row) + " and row " +
                       std::to_string(part.row) + " differ in length",
               .expected = shape_text(old.sizes()),
               .got = shape_text(source.sizes()),
               .next = "name the positions to copy"});
}

}  // namespace

at::Tensor changed_part(const Intervention& intervention, const Target& target, const RowPart& part,
                        const at::Tensor& old) {
  switch (intervention.operation) {
    case Operation::set:
      return broadcast_value(intervention, target, part, old);
    case Operation::zero:
      return at::zeros_like(old);
    case Operation::add:
      return old + broadcast_value(intervention, target, part, old);
    case Operation::scale:
      return old * intervention.factor;
    case Operation::copy_from_row:
      return source_part(intervention, target, part, old);
    case Operation::minus_infinity:
      return at::full_like(old, -std::numeric_limits<double>::infinity());
    case Operation::uniform:
      break;
  }
  throw Error(ErrorKind::internal, "CO60", {.where = target.name, .what = "unknown operation"});
}

at::Tensor uniform_rows(const AxisPart& queries, int q_begin, const RowFrame& frame,
                        const AttentionSpec& spec, const at::Tensor& like) {
  at::Tensor rows = at::zeros({queries.count(), like.size(-1)}, like.options());
  for (std::int64_t i = 0; i < queries.count(); ++i) {
    const std::int64_t in_block =
        queries.list.empty() ? queries.begin + i : queries.list[static_cast<std::size_t>(i)];
    const KeyRange keys = frame.visible(q_begin + static_cast<int>(in_block), spec);
    const int visible = keys.end - keys.begin;
    if (visible > 0) rows.select(0, i).narrow(0, keys.begin, visible).fill_(1.0 / visible);
  }
  return rows;
}

}  // namespace attnscope
