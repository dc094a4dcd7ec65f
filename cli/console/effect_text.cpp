#include "console/effect_text.h"

#include <cmath>
#include <limits>
#include <map>

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "console/run_text.h"

namespace attnscope::console {
namespace {

double mean_of(const NamedArray* array) {
  double sum = 0;
  int count = 0;
  if (array == nullptr) return std::nan("");
  for (const double value : array->values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? std::nan("") : sum / count;
}

}  // namespace

std::string number_text(double value, int digits) {
  return std::isfinite(value) ? format_number(value, digits) : kNone;
}

std::string interval_text(double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high)) return kNone;
  return "[" + format_number(low, 3) + ", " + format_number(high, 3) + "]";
}

std::string safe(const std::string& text) {
  return escape_untrusted(text, 4096);
}

std::string p_text(double p, double smallest) {
  const bool bound = p <= smallest * (1 + 1e-9);
  return (bound ? "≤" : "") + number_text(p, 2);
}

std::string joined_texts(const ExperimentRecord& record, const char* name) {
  const NamedTexts* texts = record.text(name);
  std::string out;
  if (texts == nullptr) return out;
  for (const std::string& line : texts->values) out += safe(line) + "\n";
  return out;
}

std::string record_title(const ExperimentRecord& record) {
  static const std::map<std::string, const char*> kWords = {
      {"interactions", "each two of the strongest together"},
      {"rerun_f32", "the largest again in float32"},
      {"verdict_kv", "verdict on key-value heads"},
      {"patch_layer_pos", "patch by layer and position"},
      {"patch_layer_head", "patch by layer and head"},
      {"patch_layer_head_pos", "patch by layer, head and position"}};
  const auto words = kWords.find(record.name);
  return words == kWords.end() ? safe(record.name)
                               : std::string(words->second) + " (" + record.name + ")";
}

std::string part_text(const std::optional<ShardId>& part) {
  if (!part) return "";
  return "Part " + std::to_string(part->index + 1) + " of " + std::to_string(part->count) +
         " of a run (--shard): simultaneous intervals and adjusted p are of its own cells; " +
         "attnscope merge joins all parts.\n";
}

std::string meaning_text(const ExperimentRecord& record) {
  const auto base = record.text_attribute("base");
  std::string text =
      "An effect is the metric after the change minus the metric " +
      (base ? "of the " + safe(*base) + " run, which is the one that is changed" : "before it") +
      ".\n";
  if (record.array("recovery") == nullptr) return text;
  return text +
         "A recovery of 0 is the metric of the corrupt run, one of 1 that of the clean run.\n";
}

std::string heading_text(const ExperimentResult& result) {
  const ExperimentRecord& record = result.record;
  const double baseline = mean_of(record.array("baseline"));
  std::string text = record_title(record) + " of " + safe(result.model) + " on " +
                     count_of(static_cast<std::uint64_t>(result.prompts), "prompt");
  if (result.clusters > 0 && result.clusters != result.prompts) {
    text += " in " + count_of(static_cast<std::uint64_t>(result.clusters), "group");
  }
  text += ": metric " + safe(record.metric);
  const auto base = record.text_attribute("base");
  if (std::isfinite(baseline)) {
    text += ", " + format_number(baseline, 4) +
            (base ? " in the " + safe(*base) + " run" : " without a change");
  }
  text += ".\n" + part_text(result.part) + meaning_text(record) + "Noise floor " +
          number_text(record.noise_floor, 2) + ".\n";
  if (result.misaligned > 0) {
    text += "Left out because they do not align: " +
            count_of(static_cast<std::uint64_t>(result.misaligned), "pair") + ".\n";
  }
  return text;
}

std::string checks_text(const ExperimentResult& result) {
  std::string text;
  const auto dropped = result.record.integer_attribute("dropped");
  if (dropped && *dropped > 0) {
    text += "Left out of the recovery, because clean and corrupt differ by less than --floor: " +
            count_of(static_cast<std::uint64_t>(*dropped), "prompt") + ".\n";
  }
  const auto cells = result.record.integer_attribute("verify_cells");
  if (cells && *cells > 0) {
    text += "Run again by the slow loop: " + count_of(static_cast<std::uint64_t>(*cells), "cell") +
            ", largest difference " +
            number_text(result.record.number_attribute("verify_max_difference").value_or(NAN), 2) +
            ".\n";
  }
  return text + computed_text(result);
}

}  // namespace attnscope::console
