#include "match_tensors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "shape_text.h"

namespace attnscope {
namespace {

constexpr std::size_t kListed = 5;

// Norms of checkpoints that come from TensorFlow say gamma and beta.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOldEndings = {
    {{".weight", ".gamma"}, {".bias", ".beta"}}};

// How a full name is written in these files.
class NameFinder {
 public:
  NameFinder(const TensorSource& source, std::string base_prefix)
      : source_(source), base_prefix_(std::move(base_prefix)) {
    const std::vector<TensorInfo>& all = source.tensors();
    has_prefix_ =
        base_prefix_.empty() || std::any_of(all.begin(), all.end(), [&](const TensorInfo& t) {
          return t.name.starts_with(base_prefix_);
        });
  }

  const TensorInfo* find(const std::string& full_name) const {
    const std::string name = in_files(full_name);
    if (const TensorInfo* found = source_.find(name)) return found;
    for (const auto& [ending, old] : kOldEndings) {
      if (!name.ends_with(ending)) continue;
      return source_.find(name.substr(0, name.size() - ending.size()) + std::string(old));
    }
    return nullptr;
  }

  bool matches(const std::string& glob, const std::string& name) const {
    return glob_match(glob, name) || (!has_prefix_ && glob_match(glob, base_prefix_ + name));
  }

 private:
  std::string in_files(const std::string& full_name) const {
    if (has_prefix_ || !full_name.starts_with(base_prefix_)) return full_name;
    return full_name.substr(base_prefix_.size());
  }

  const TensorSource& source_;
  std::string base_prefix_;
  bool has_prefix_ = true;
};

// "a", "b", … of 12
std::string listing(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < names.size() && i < kListed; ++i) shown.push_back(quote(names[i]));
  std::string text = join(shown, ", ");
  if (names.size() > kListed) text += " … (" + std::to_string(names.size()) + " in all)";
  return text;
}

bool is_floating(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

class Matcher {
 public:
  Matcher(const MatchInput& input, Warnings& warnings)
      : input_(input), warnings_(warnings), finder_(input.source, input.base_prefix) {}

  TensorMap match() {
    for (const TensorBinding& binding : input_.wanted.bindings) match_binding(binding);
    report_missing();
    for (const TiedTwin& twin : input_.wanted.twins) match_twin(twin);
    report_unexpected();
    out_.unused = input_.wanted.unused;
    return std::move(out_);
  }

 private:
  void match_binding(const TensorBinding& binding) {
    const TensorInfo* found = find_with_twins(binding.name);
    if (found == nullptr) {
      if (!binding.optional) missing_.push_back(binding.name);
      return;
    }
    check_shape(*found, binding.shape);
    if (!is_floating(found->dtype)) {
      throw Error(ErrorKind::input, "TM03",
                  {.where = input_.where,
                   .what = "tensor " + quote(found->name) + " holds " + dtype_name(found->dtype),
                   .expected = "float32, float16, bfloat16 or float64"});
    }
    consumed_.insert(found->name);
    TensorBinding resolved = binding;
    resolved.name = found->name;
    out_.bindings.push_back(std::move(resolved));
  }

  // A tied tensor may be stored under the name of its twin only.
  const TensorInfo* find_with_twins(const std::string& name) const {
    if (const TensorInfo* found = finder_.find(name)) return found;
    for (const TiedTwin& twin : input_.wanted.twins) {
      if (twin.same_as != name) continue;
      if (const TensorInfo* found = finder_.find(twin.name)) return found;
    }
    return nullptr;
  }

  void check_shape(const TensorInfo& found, const std::vector<std::int64_t>& expected) const {
    if (found.shape == expected) return;
    std::vector<std::int64_t> reversed = found.shape;
    std::reverse(reversed.begin(), reversed.end());
    throw Error(ErrorKind::input, "TM02",
                {.where = input_.where,
                 .what = "tensor " + quote(found.name) + ": shape",
                 .expected = shape_text(expected) + " by the configuration",
                 .got = shape_text(found.shape),
                 .next = reversed == expected ? "transposed?" : ""});
  }

  void match_twin(const TiedTwin& twin) {
    const TensorInfo* found = finder_.find(twin.name);
    const TensorInfo* original = find_with_twins(twin.same_as);
    if (found == nullptr || original == nullptr || found == original) return;
    check_shape(*found, original->shape);
    consumed_.insert(found->name);
    out_.twins.push_back({found->name, original->name});
  }

  void report_missing() const {
    if (missing_.empty()) return;
    std::vector<std::string> there;
    for (const TensorInfo& t : input_.source.tensors()) {
      if (there.size() < kListed) there.push_back(t.name);
    }
    throw Error(
        ErrorKind::input, "TM01",
        {.where = input_.where,
         .what = std::to_string(missing_.size()) +
                 (missing_.size() == 1 ? " tensor is missing: " : " tensors are missing: ") +
                 listing(missing_),
         .next = "the file begins with " + (there.empty() ? "no tensor" : listing(there))});
  }

  void report_unexpected() {
    std::vector<std::string> unexpected;
    for (const TensorInfo& t : input_.source.tensors()) {
      if (consumed_.contains(t.name) || known_unused(t.name)) continue;
      unexpected.push_back(t.name);
    }
    if (unexpected.empty()) return;
    const std::string what =
        std::to_string(unexpected.size()) +
        (unexpected.size() == 1 ? " unexpected tensor: " : " unexpected tensors: ") +
        listing(unexpected);
    if (input_.strictness == Strictness::strict) {
      throw Error(ErrorKind::input, "TM04", {.where = input_.where, .what = what});
    }
    warnings_.add(input_.where + ": " + what + "; not used");
  }

  bool known_unused(const std::string& name) const {
    return std::any_of(input_.wanted.unused.begin(), input_.wanted.unused.end(),
                       [&](const KnownUnused& u) { return finder_.matches(u.glob, name); });
  }

  const MatchInput& input_;
  Warnings& warnings_;
  NameFinder finder_;
  TensorMap out_;
  std::unordered_set<std::string> consumed_;
  std::vector<std::string> missing_;
};

}  // namespace

TensorMap match_tensors(const MatchInput& input, Warnings& warnings) {
  return Matcher(input, warnings).match();
}

bool holds_tensor(const TensorSource& source, const std::string& base_prefix,
                  const std::string& name) {
  return NameFinder(source, base_prefix).find(name) != nullptr;
}

}  // namespace attnscope
