// What must hold of the numbers of experiments.
#include <cmath>
#include <map>

#include "attnscope/storage/experiment.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "verify_parts.h"

namespace attnscope::storage_detail {
namespace {

class RecordCheck {
 public:
  RecordCheck(const ExperimentRecord& record, std::vector<Finding>& findings)
      : record_(record), path_("/experiments/" + record.name), findings_(findings) {}

  void run() {
    check_attributes();
    for (const NamedArray& array : record_.arrays) check_extents(array);
    for (const NamedIntegers& array : record_.integers) check_extents(array);
    for (const NamedTexts& array : record_.texts) check_extents(array);
    check_cells();
    check_effect();
    check_within("ci_low", "effect");
    check_within("effect", "ci_high");
    check_within("ci_sim_low", "effect");
    check_within("effect", "ci_sim_high");
    check_p("p");
    check_p("p_adjusted");
    check_within("p", "p_adjusted");
    check_count("n");
    check_count("undefined");
    check_verdicts();
  }

 private:
  void add(const std::string& dataset, const std::string& what, const std::string& expected,
           const std::string& got) {
    findings_.push_back({path_ + (dataset.empty() ? "" : "/" + dataset), what, expected, got});
  }

  void check_attributes() {
    if (!parse_file_kind(record_.kind)) {
      add("", "attribute kind", "ablate, patch, verdict …", quote(record_.kind));
    }
    if (!(record_.noise_floor >= 0)) {
      add("", "attribute noise_floor", "0 or more", format_number(record_.noise_floor));
    }
  }

  // Axes of one name are equally long in all arrays.
  template <typename Named>
  void check_extents(const Named& array) {
    for (std::size_t a = 0; a < array.dims.size(); ++a) {
      const auto [known, is_new] = extents_.try_emplace(array.dims[a], array.shape[a]);
      if (!is_new && known->second != array.shape[a]) {
        add(array.name, "length along " + quote(array.dims[a]), std::to_string(known->second),
            std::to_string(array.shape[a]));
      }
    }
  }

  void check_cells() {
    const NamedTexts* cells = record_.text("cells");
    if (cells != nullptr && cells->dims != std::vector<std::string>{"cell"}) {
      add("cells", "axes", "cell, or those of a grid whose layers, heads, positions are there",
          quote(join(cells->dims, " ")));
    }
  }

  std::string place(const NamedArray& array, std::size_t index) const {
    const NamedTexts* cells = record_.text("cells");
    const std::size_t count = cells == nullptr ? 0 : cells->values.size();
    const bool by_cell = count > 0 && !array.dims.empty() && array.dims.back() == "cell";
    return by_cell ? "cell " + quote(cells->values[index % count])
                   : "value " + std::to_string(index);
  }

  void check_effect() {
    const NamedArray* effect = record_.array("effect");
    if (effect == nullptr) return;
    for (std::size_t i = 0; i < effect->values.size(); ++i) {
      if (!std::isinf(effect->values[i])) continue;
      add("effect", place(*effect, i), "a number, or NaN where there is none",
          format_number(effect->values[i]));
      return;
    }
  }

  // Each value of `low` is at most the one of `high`, where both are there.
  void check_within(const char* low, const char* high) {
    const NamedArray* a = record_.array(low);
    const NamedArray* b = record_.array(high);
    if (a == nullptr || b == nullptr) return;
    if (a->dims != b->dims || a->shape != b->shape) {
      return add(low, "axes", "those of " + std::string(high), quote(join(a->dims, " ")));
    }
    for (std::size_t i = 0; i < a->values.size(); ++i) {
      const double slack = 1e-9 * std::max(1.0, std::fabs(b->values[i]));
      if (!(a->values[i] > b->values[i] + slack)) continue;
      add(low, place(*a, i), "at most " + std::string(high) + " = " + format_number(b->values[i]),
          format_number(a->values[i]));
      return;
    }
  }

  void check_p(const char* name) {
    const NamedArray* p = record_.array(name);
    if (p == nullptr) return;
    for (std::size_t i = 0; i < p->values.size(); ++i) {
      if (!(p->values[i] < 0 || p->values[i] > 1)) continue;
      add(name, place(*p, i), "0 … 1", format_number(p->values[i]));
      return;
    }
  }

  void check_count(const char* name) {
    const NamedIntegers* counts = record_.integer(name);
    if (counts == nullptr) return;
    for (const std::int64_t count : counts->values) {
      if (count >= 0) continue;
      add(name, "a count", "0 or more", std::to_string(count));
      return;
    }
  }

  void check_verdicts() {
    const NamedIntegers* verdicts = record_.integer("verdict");
    if (verdicts == nullptr) return;
    for (const std::int64_t level : verdicts->values) {
      if (verdict_level(level)) continue;
      add("verdict", "a level", "1, 0, -1 or -2", std::to_string(level));
      return;
    }
  }

  const ExperimentRecord& record_;
  std::string path_;
  std::vector<Finding>& findings_;
  std::map<std::string, std::int64_t> extents_;
};

}  // namespace

void check_experiments(const CaptureReader& reader, std::vector<Finding>& findings) {
  for (const ExperimentRecord& record : reader.experiments()) RecordCheck(record, findings).run();
}

}  // namespace attnscope::storage_detail
