#include "attnscope/core/shape_check.h"

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

std::string axes_text(std::span<const Axis> axes) {
  std::vector<std::string> parts;
  for (const Axis& axis : axes) parts.push_back(axis.name + "=" + std::to_string(axis.size));
  return "[" + join(parts, " ") + "]";
}

bool has_axes(const at::Tensor& tensor, std::span<const Axis> axes) {
  if (tensor.dim() != static_cast<std::int64_t>(axes.size())) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (tensor.size(static_cast<std::int64_t>(i)) != axes[i].size) return false;
  }
  return true;
}

std::string kind_text(const at::Tensor& tensor) {
  return std::string(c10::toString(tensor.scalar_type())) + " on " + tensor.device().str();
}

}  // namespace

std::string shape_text(at::IntArrayRef sizes) {
  std::vector<std::string> parts;
  for (const std::int64_t size : sizes) parts.push_back(std::to_string(size));
  return "[" + join(parts, " ") + "]";
}

void expect_shape(const at::Tensor& tensor, std::string_view name, std::span<const Axis> axes) {
  if (tensor.defined() && has_axes(tensor, axes)) return;
  throw Error(ErrorKind::input, "CO01",
              {.where = std::string(name),
               .what = "the tensor has another shape",
               .expected = axes_text(axes),
               .got = tensor.defined() ? shape_text(tensor.sizes()) : "no tensor"});
}

void expect_shape(const at::Tensor& tensor, std::string_view name,
                  std::initializer_list<Axis> axes) {
  expect_shape(tensor, name, std::span<const Axis>(axes.begin(), axes.size()));
}

void expect_like(const at::Tensor& tensor, std::string_view name, const at::Tensor& like,
                 std::string_view dims) {
  std::vector<Axis> axes;
  const std::vector<std::string> letters = split(dims, ' ');
  for (std::size_t i = 0; i < letters.size(); ++i) {
    axes.push_back({letters[i], like.size(static_cast<std::int64_t>(i))});
  }
  expect_shape(tensor, name, axes);
  if (tensor.scalar_type() == like.scalar_type() && tensor.device() == like.device()) return;
  throw Error(ErrorKind::input, "CO02",
              {.where = std::string(name),
               .what = "the tensor has another type or lies on another device",
               .expected = kind_text(like),
               .got = kind_text(tensor)});
}

}  // namespace attnscope
