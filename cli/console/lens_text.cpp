#include "console/lens_text.h"

#include <algorithm>
#include <cmath>

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "console/output.h"
#include "console/run_text.h"
#include "console/table.h"

namespace attnscope::console {
namespace {

constexpr std::size_t kPrompts = 3;       // shown one by one
constexpr std::size_t kChoices = 3;       // tokens of a stage
constexpr std::size_t kParts = 10;        // of an attribution
constexpr std::int64_t kPromptTail = 12;  // tokens of a prompt that are shown
const std::string kNotANumber = "nan";

// Index of the last entry along a line of axes, the first of which is given.
template <typename Named>
std::size_t at(const Named& array, std::initializer_list<std::int64_t> place) {
  std::size_t index = 0;
  std::size_t axis = 0;
  for (const std::int64_t i : place) {
    index = index * static_cast<std::size_t>(array.shape[axis++]) + static_cast<std::size_t>(i);
  }
  return index;
}

std::string token(const std::string& text) {
  return quote(text, 40);
}

// The position whose stages are shown: the last that was read, else the last.
std::int64_t shown_position(const ExperimentRecord& record) {
  const NamedIntegers* reads = record.integer("reads");
  if (reads != nullptr && !reads->values.empty()) return reads->values.back();
  return record.text("tokens")->shape.front() - 1;
}

std::string prompt_line(const ExperimentRecord& record, std::int64_t position) {
  const std::vector<std::string>& tokens = record.text("tokens")->values;
  const std::int64_t begin = std::max<std::int64_t>(0, position + 1 - kPromptTail);
  std::string text = begin > 0 ? "…" : "";
  for (std::int64_t i = begin; i <= position; ++i) text += tokens[static_cast<std::size_t>(i)];
  return escape_untrusted(text, 400);
}

std::string stages_of(const ExperimentRecord& record, std::int64_t position) {
  const NamedTexts& top = *record.text("top_text");
  const NamedArray& probability = *record.array("top_prob");
  const NamedIntegers& rank = *record.integer("target_rank");
  const NamedArray& divergence = *record.array("kl");
  const auto choices = std::min<std::int64_t>(kChoices, top.shape[2]);
  Table table({{"after"}, {"would say"}, {"target's rank", Align::right}, {"KL", Align::right}});
  for (std::int64_t stage = 0; stage < top.shape[0]; ++stage) {
    std::vector<std::string> said;
    for (std::int64_t c = 0; c < choices; ++c) {
      const std::size_t i = at(top, {stage, position, c});
      said.push_back(std::isnan(probability.values[i])
                         ? kNotANumber
                         : token(top.values[i]) + " " + format_number(probability.values[i], 2));
    }
    const std::int64_t place = rank.values[at(rank, {stage, position})];
    table.add({escape_untrusted(record.text("stages")->values[static_cast<std::size_t>(stage)]),
               join(said, "  "), place < 0 ? kNotANumber : std::to_string(place),
               format_number(divergence.values[at(divergence, {stage, position})], 3)});
  }
  return table.text();
}

struct Part {
  std::string name;
  double value = 0;
};

// Heads and MLPs at the last read of a prompt, or of the means, by their size.
std::vector<Part> largest_parts(const ExperimentRecord& record) {
  std::vector<Part> parts;
  const NamedArray& heads = *record.array("dla_heads");
  const NamedArray& mlps = *record.array("dla_mlps");
  const std::size_t n_layers = static_cast<std::size_t>(mlps.shape.back());
  const std::size_t n_heads = static_cast<std::size_t>(heads.shape.back());
  const double* head = heads.values.data() + (heads.values.size() - n_layers * n_heads);
  const double* mlp = mlps.values.data() + (mlps.values.size() - n_layers);
  for (std::size_t l = 0; l < n_layers; ++l) {
    for (std::size_t h = 0; h < n_heads; ++h) {
      parts.push_back({std::to_string(l) + "." + std::to_string(h), head[l * n_heads + h]});
    }
    parts.push_back({"mlp:" + std::to_string(l), mlp[l]});
  }
  std::erase_if(parts, [](const Part& part) { return !std::isfinite(part.value); });
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::fabs(a.value) > std::fabs(b.value);
  });
  if (parts.size() > kParts) parts.resize(kParts);
  return parts;
}

std::string attribution_of(const ExperimentRecord& record) {
  if (record.array("dla_heads") == nullptr) return "";
  const NamedArray& ends = *record.array("dla_ends");
  const double total = ends.values[ends.values.size() - 4];
  std::string text = "Largest contributions of heads and MLPs to the " +
                     escape_untrusted(record.metric) + " of " + format_number(total, 4) + ":";
  double rest = total;
  for (const Part& part : largest_parts(record)) {
    text += "  " + part.name + " " + format_number(part.value, 3);
    rest -= part.value;
  }
  return text + (std::isfinite(total) ? "; all the rest adds up to " + format_number(rest, 3) + "\n"
                                      : "  (parts that are nan are not listed)\n");
}

std::string means_of(const ExperimentRecord& record) {
  const NamedArray& divergence = *record.array("kl");
  const NamedArray& target = *record.array("target_log_prob");
  const NamedArray& first = *record.array("target_first");
  Table table({{"after"},
               {"KL", Align::right},
               {"log p of the target", Align::right},
               {"target first", Align::right}});
  for (std::size_t s = 0; s < divergence.values.size(); ++s) {
    table.add({escape_untrusted(record.text("stages")->values[s]),
               format_number(divergence.values[s], 3), format_number(target.values[s], 3),
               format_number(100 * first.values[s], 3) + " %"});
  }
  return table.text();
}

}  // namespace

std::string lens_text(const ExperimentResult& result) {
  std::string text;
  const std::size_t shown = std::min(kPrompts, result.prompt_records.size());
  for (std::size_t p = 0; p < shown; ++p) {
    const ExperimentRecord& record = result.prompt_records[p];
    const std::int64_t position = shown_position(record);
    text += prompt_line(record, position) + "\n" + stages_of(record, position) +
            attribution_of(record) + "\n";
  }
  if (result.prompt_records.size() > 1) {
    text += "Means over " + count_of(result.prompt_records.size(), "prompt") + "\n" +
            means_of(result.record) + attribution_of(result.record) + "\n";
  }
  text += computed_text(result);
  if (!result.path.empty()) {
    text += "Wrote " + escape_untrusted(result.path, 4096) + ".\n";
  }
  return text;
}

}  // namespace attnscope::console
