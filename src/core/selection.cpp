#include "selection.h"

#include <utility>

#include "attnscope/support/error.h"

namespace attnscope {

AxisPart AxisPart::of(std::vector<std::int64_t> indices) {
  for (std::size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] != indices[0] + static_cast<std::int64_t>(i)) {
      return {0, 0, std::move(indices)};
    }
  }
  if (indices.empty()) return range(0, 0);
  return range(indices[0], static_cast<std::int64_t>(indices.size()));
}

at::Tensor read_part(const at::Tensor& tensor, const Selection& selection) {
  at::Tensor part = tensor;
  for (std::size_t axis = 0; axis < selection.size(); ++axis) {
    const AxisPart& along = selection[axis];
    const auto dim = static_cast<std::int64_t>(axis);
    if (along.list.empty()) {
      part = part.narrow(dim, along.begin, along.length);
    } else {
      part = part.index_select(
          dim, at::tensor(along.list, at::TensorOptions(at::kLong)).to(tensor.device()));
    }
  }
  return part;
}

void write_part(at::Tensor tensor, const Selection& selection, const at::Tensor& part) {
  for (std::size_t axis = 0; axis < selection.size(); ++axis) {
    const AxisPart& along = selection[axis];
    const auto dim = static_cast<std::int64_t>(axis);
    if (along.list.empty()) {
      tensor = tensor.narrow(dim, along.begin, along.length);
      continue;
    }
    // Entry by entry along this axis; the axes before it are whole in what is left to write.
    Selection rest(selection.begin() + static_cast<std::ptrdiff_t>(axis) + 1, selection.end());
    Selection inner;
    for (std::int64_t before = 0; before < dim; ++before) {
      inner.push_back(AxisPart::range(0, tensor.size(before)));
    }
    inner.insert(inner.end(), rest.begin(), rest.end());
    for (std::size_t i = 0; i < along.list.size(); ++i) {
      write_part(tensor.select(dim, along.list[i]), inner,
                 part.select(dim, static_cast<std::int64_t>(i)));
    }
    return;
  }
  tensor.copy_(part);
}

AxisPart position_slots(const std::vector<int>& positions, int start, int first, int length,
                        const std::string& where) {
  if (positions.empty()) return AxisPart::range(start, length);
  std::vector<std::int64_t> slots;
  for (const int given : positions) {
    const int position = given < 0 ? given + first + length : given;
    if (position < first || position >= first + length) {
      throw Error(
          ErrorKind::input, "CO56",
          {.where = where,
           .what = "position " + std::to_string(given) + " is outside the row",
           .expected = std::to_string(first) + " to " + std::to_string(first + length - 1)});
    }
    slots.push_back(start + position - first);
  }
  return AxisPart::of(std::move(slots));
}

AxisPart head_indices(const std::vector<int>& heads, std::int64_t n_heads,
                      const std::string& where) {
  if (heads.empty()) return AxisPart::range(0, n_heads);
  std::vector<std::int64_t> indices;
  for (const int head : heads) {
    if (head < 0 || head >= n_heads) {
      throw Error(ErrorKind::input, "CO57",
                  {.where = where,
                   .what = "head " + std::to_string(head) + " does not exist",
                   .expected = "0 to " + std::to_string(n_heads - 1)});
    }
    indices.push_back(head);
  }
  return AxisPart::of(std::move(indices));
}

}  // namespace attnscope
