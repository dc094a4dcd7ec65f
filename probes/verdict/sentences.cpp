#include "sentences.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/support/text.h"

namespace attnscope {
namespace {

std::string range(const Interval& interval) {
  return "[" + number_in_text(interval.low) + ", " + number_in_text(interval.high) + "]";
}

std::string ordinal(std::size_t n) {
  const std::size_t last = n % 10, teens = n % 100;
  const bool regular = teens >= 11 && teens <= 13;
  const char* ending = regular || last == 0 || last > 3 ? "th"
                       : last == 1                      ? "st"
                       : last == 2                      ? "nd"
                                                        : "rd";
  return std::to_string(n) + ending;
}

// "a", "a and b", "a, b and c"
std::string list(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  const std::vector<std::string> all_but_last(words.begin(), words.end() - 1);
  return join(all_but_last, ", ") + " and " + words.back();
}

// Writes one verdict's sentences from its numbers.
class Writer {
 public:
  Writer(const VerdictInput& input, const VerdictOptions& options, const VerdictResult& result)
      : input_(input), options_(options), result_(result) {}

  std::string paragraph() const {
    std::vector<std::string> sentences;
    if (!result_.withheld.empty()) sentences.push_back(withheld());
    if (!result_.attention.empty()) {
      sentences.push_back(guide());
      sentences.push_back(other_methods());
      sentences.push_back(other_measures());
    }
    sentences.push_back(no_strongest());
    sentences.push_back(of_the_measured_half());
    if (result_.withheld.empty()) sentences.push_back(marks());
    sentences.push_back(self_repair());
    sentences.push_back(controls());
    std::erase(sentences, "");
    return join(sentences, " ");
  }

 private:
  std::string noun(std::size_t count) const {
    return count == 1 ? options_.unit_noun : options_.unit_noun + "s";
  }
  std::string unit(double value) const {
    return number_in_text(value) + " " + options_.metric_unit;
  }
  std::string bound() const { return "±" + unit(result_.delta); }
  std::string name(std::size_t u) const { return input_.units[u]; }
  std::string prompts() const { return count_of(result_.prompts, "prompt"); }
  std::string these_prompts() const {
    return result_.prompts == 1 ? "this prompt" : "these " + prompts();
  }

  std::string withheld() const {
    return "The verdict is withheld: " + join(result_.withheld, "; ") + ".";
  }

  std::string guide() const {
    const AttentionResult& first = result_.attention.front();
    const std::string& measure = input_.attention[first.measure].name;
    // Where the effects are well known a perfect guide reaches 1, and that need not be said.
    const std::string reach = first.attainable < 0.95 ? " where a perfect guide would reach " +
                                                            number_in_text(first.attainable)
                                                      : "";
    const std::string tau = "within layers its rank correlation with the |effect| of " +
                            method(first) + " is τ-b " + with_interval(first) + reach;
    const std::string beginning = "On " + these_prompts() + " " + measure;
    switch (first.guide) {
      case Guide::poor:
        return beginning + " is a poor guide to importance: " + tau + ".";
      case Guide::wrong_way:
        return beginning + " points the wrong way: " + tau + ".";
      case Guide::partial:
        return beginning + " is a partial guide to importance: " + tau + ".";
      case Guide::good:
        return beginning + " is a good guide to importance: " + tau + ".";
      case Guide::cannot_tell:
        break;
    }
    const std::string beginning_unknown =
        result_.prompts == 1 ? "This prompt" : "These " + prompts();
    return beginning_unknown + " cannot tell whether " + measure +
           " is a guide to importance: " + why_unknown(first, tau) + ".";
  }

  std::string why_unknown(const AttentionResult& first, const std::string& tau) const {
    if (std::isnan(first.tau) && input_.non_finite > 0) {
      return "too many effects are NaN or infinite";
    }
    if (std::isnan(first.tau)) {
      return "no two " + noun(2) + " of a layer differ in both attention and effect";
    }
    if (!first.interval.exists()) {
      return "within layers its rank correlation with the |effect| of " + method(first) +
             " is τ-b " + number_in_text(first.tau) +
             ", and there are too few groups for an interval";
    }
    if (!(first.ceiling_interval.low >= kUsefulCeiling)) {
      return "effects measured on one half of them may not even rank the " + noun(2) +
             " of a layer as those of the other half do" +
             (std::isnan(first.ceiling)
                  ? ""
                  : ", τ-b between the halves " + number_in_text(first.ceiling)) +
             (first.ceiling_interval.exists() ? " " + range(first.ceiling_interval) : "");
    }
    return tau;
  }

  const std::string& method(const AttentionResult& result) const {
    return input_.methods[result.method].name;
  }
  // "0.05 [−0.1, 0.2]". The interval is over prompts and p over units: where only one of them
  // excludes 0, p is said too.
  std::string with_interval(const AttentionResult& result) const {
    const bool excludes = result.interval.low > 0 || result.interval.high < 0;
    const bool agree = std::isnan(result.p) || excludes == (result.p <= kVerdictAlpha);
    return number_in_text(result.tau) + " " + range(result.interval) +
           (agree ? "" : " (although p = " + number_in_text(result.p) + " over " + noun(2) + ")");
  }

  // "0.05 [−0.1, 0.2], poor; …" of the results that `is_other` chooses, each after what
  // `name_of` calls it, which is told whether it is the first.
  template <typename IsOther, typename NameOf>
  std::string others(const IsOther& is_other, const NameOf& name_of) const {
    const AttentionResult& first = result_.attention.front();
    std::vector<std::string> parts;
    for (const AttentionResult& other : result_.attention) {
      if (!is_other(first, other) || !other.interval.exists()) continue;
      parts.push_back(name_of(other, parts.empty()) + " " + with_interval(other) + ", " +
                      std::string(guide_name(other.guide)));
    }
    return parts.empty() ? "" : join(parts, "; ") + ".";
  }

  // One method may say what another does not.
  std::string other_methods() const {
    return others(
        [](const AttentionResult& first, const AttentionResult& other) {
          return other.measure == first.measure && other.method != first.method;
        },
        [&](const AttentionResult& other, bool is_first) {
          return is_first ? "With the |effect| of " + method(other) + " it is"
                          : "with that of " + method(other);
        });
  }

  std::string other_measures() const {
    return others(
        [](const AttentionResult& first, const AttentionResult& other) {
          return other.measure != first.measure && other.method == first.method;
        },
        [&](const AttentionResult& other, bool is_first) {
          return (is_first ? "Other measures with the |effect| of " + method(other) + ": " : "") +
                 input_.attention[other.measure].name;
        });
  }

  std::size_t loudest_with(Verdict verdict) const {
    return static_cast<std::size_t>(
        std::count_if(result_.picked.loudest.begin(), result_.picked.loudest.end(),
                      [&](std::size_t u) { return result_.units[u].verdict == verdict; }));
  }

  std::string loudest() const {
    const std::size_t count = result_.picked.loudest.size();
    const std::string claim = " no effect larger than " + bound();
    if (count == 1) {
      const std::size_t u = result_.picked.loudest.front();
      const std::string subject = "the loudest " + noun(1) + ", " + name(u) + ",";
      if (result_.units[u].verdict == Verdict::no_effect) return subject + " has" + claim;
      return subject + " is " + std::string(verdict_name(result_.units[u].verdict));
    }
    const std::size_t none = loudest_with(Verdict::no_effect);
    const std::string which = " of the " + std::to_string(count) + " loudest " + noun(count);
    if (none == 0)
      return "for none" + which + " could an effect beyond " + bound() + " be ruled out";
    return std::to_string(none) + which + (none == 1 ? " has" : " have") + claim;
  }

  std::string no_strongest() const {
    if (result_.picked.strongest) return "";
    return "No " + noun(1) + " is the strongest: the effect of each is NaN or infinite on some " +
           "prompts.";
  }

  std::string strongest() const {
    const PickedUnits& picked = result_.picked;
    const std::string effect = std::isnan(picked.strongest_effect) ? "its effect is NaN or infinite"
                                                                   : unit(picked.strongest_effect);
    const std::string who = name(*picked.strongest) + " (" + effect + ")";
    if (picked.strongest_rank == 0) return "the strongest " + noun(1) + " is " + who;
    return "the strongest " + noun(1) + ", " + who + ", ranks " + ordinal(picked.strongest_rank) +
           " of " + std::to_string(input_.units.size()) + " in attention";
  }

  // What was measured on the prompts that nothing was chosen on. Where there is attention, the
  // sentences before have named all prompts.
  std::string of_the_measured_half() const {
    const bool judged = result_.withheld.empty();
    std::vector<std::string> parts;
    if (result_.picked.strongest) {
      if (judged && !result_.picked.loudest.empty()) parts.push_back(loudest());
      parts.push_back(strongest());
    }
    if (judged) parts.push_back(counts());
    if (parts.empty()) return "";
    return "On the " + std::to_string(result_.estimation_prompts) + " of " +
           (result_.attention.empty() ? prompts() : "them") + " that nothing was chosen on, " +
           join(parts, "; ") + ".";
  }

  std::vector<std::size_t> with(Verdict verdict) const {
    std::vector<std::size_t> found;
    for (std::size_t u = 0; u < result_.units.size(); ++u) {
      if (result_.units[u].verdict == verdict) found.push_back(u);
    }
    return found;
  }

  std::string counts() const {
    const std::vector<std::size_t> open = with(Verdict::undetermined);
    std::string text = "of " + std::to_string(input_.units.size()) + " " +
                       noun(input_.units.size()) + " " +
                       std::to_string(with(Verdict::causal).size()) + " " +
                       (with(Verdict::causal).size() == 1 ? "is" : "are") + " causal, " +
                       std::to_string(with(Verdict::no_effect).size()) + " without effect, " +
                       std::to_string(open.size()) + " undetermined";
    const auto backed_up = std::count_if(open.begin(), open.end(),
                                         [&](std::size_t u) { return result_.units[u].backed_up; });
    if (backed_up > 0) text += " (" + std::to_string(backed_up) + " of them backed up)";
    std::vector<double> smallest;
    for (const std::size_t u : open) {
      const double mde = result_.units[u].minimal_detectable;
      if (!std::isnan(mde)) smallest.push_back(mde);
    }
    if (!smallest.empty()) {
      text += "; in each of these an effect of " +
              unit(*std::max_element(smallest.begin(), smallest.end())) +
              " would have been seen under each method in four of five cases";
    }
    return text;
  }

  std::string marks() const {
    std::vector<std::string> backed_up, unspecific, like_random;
    for (std::size_t u = 0; u < result_.units.size(); ++u) {
      const UnitResult& r = result_.units[u];
      if (r.backed_up) backed_up.push_back(name(u));
      if (r.verdict != Verdict::causal) continue;
      if (r.unspecific) unspecific.push_back(name(u));
      if (r.like_random) like_random.push_back(name(u));
    }
    std::vector<std::string> sentences;
    if (!backed_up.empty()) {
      const bool one = backed_up.size() == 1;
      const std::string their = one ? "its" : "their";
      sentences.push_back("Removed alone, " + list(backed_up) + (one ? " has" : " have") +
                          " no effect, but others may stand in for " + (one ? "it: " : "them: ") +
                          their + " direct effect, or " + their +
                          " effect once another is removed as well, may lie beyond " + bound() +
                          ".");
    }
    if (!unspecific.empty()) {
      sentences.push_back(list(unspecific) + (unspecific.size() == 1 ? " is" : " are") +
                          " unspecific: an unrelated pair of answers moves at least half as much.");
    }
    if (!like_random.empty()) {
      sentences.push_back("What " + list(like_random) +
                          (like_random.size() == 1 ? " does" : " do") +
                          " may be due to the size of the change alone: random changes of the "
                          "same size do as much in more than one of twenty cases.");
    }
    return join(sentences, " ");
  }

  std::string self_repair() const {
    std::vector<std::string> sentences;
    for (std::size_t j = 0; j < result_.joint.size(); ++j) {
      const JointResult& r = result_.joint[j];
      std::vector<std::string> names;
      for (const std::size_t u : input_.joint[j].units) names.push_back(name(u));
      const std::string together =
          "Removed together, " + list(names) + ", the strongest on the other half of the prompts, ";
      if (std::isnan(r.joint)) {
        sentences.push_back(together + "change the metric by what is NaN or infinite on some " +
                            "prompts.");
        continue;
      }
      std::string text = together + "change the metric by " + unit(r.joint);
      if (!std::isnan(r.sum))
        text += "; their effects one by one add up to " + number_in_text(r.sum);
      if (r.difference.ci.exists()) text += " (difference " + range(r.difference.ci) + ")";
      sentences.push_back(text + ".");
      sentences.push_back(matched(input_.joint[j], r));
    }
    std::erase(sentences, "");
    return join(sentences, " ");
  }

  // How large p is, and how far the sets are draws of their own.
  std::string chance(const JointResult& r, std::size_t n) const {
    const std::string sets = std::to_string(n);
    std::string text = "p = " + number_in_text(r.matched_p);
    if (r.matched_as_large == 0) text += ", the smallest that " + sets + " sets can give";
    if (r.matched_most < 2) return text + ".";
    return text + ". The sets share " + noun(2) + ": of " + std::to_string(r.matched_units) +
           " different ones, the most frequent stands in " + std::to_string(r.matched_most) +
           " of " + sets + ".";
  }

  // The set beside random ones that look like it.
  std::string matched(const JointEffect& set, const JointResult& r) const {
    if (std::isnan(r.matched_p)) return "";
    const std::size_t n = set.matched.size();
    if (n == 1) {
      return "The only set found of as many other " + noun(2) +
             " of the same layers changes it by " + unit(r.matched_median) + ".";
    }
    const std::size_t as_large = r.matched_as_large;
    return std::to_string(n) + " random sets of as many other " + noun(2) +
           " of the same layers, alike in attention and size of output" +
           (n < set.matched_wanted ? " (further draws gave no others)" : "") + ", change it by " +
           number_in_text(r.matched_low) + " to " + unit(r.matched_high) + " (median " +
           number_in_text(r.matched_median) + "), " +
           (as_large == 0   ? "none of them by as much"
            : as_large == 1 ? "1 of them by as much"
                            : std::to_string(as_large) + " of them by as much") +
           ": " + chance(r, n);
  }

  std::string controls() const {
    const bool swapped = turns_with_answers(input_.metric);
    if (!result_.withheld.empty()) return "";
    if (swapped && std::isnan(result_.negative_control_p)) return "";
    std::string text;
    if (input_.positive_control == ControlOutcome::passed) {
      text =
          "The model with planted " + noun(2) + " that is judged beside it came out as planted. ";
    }
    if (!swapped) {
      return text + "The control that swaps answer and wrong answer is not run: " +
             swap_turns_nothing(input_.metric) + ".";
    }
    return text +
           "With answer and wrong answer swapped by a coin for each group, which must leave "
           "no effect, the smallest p is " +
           number_in_text(result_.negative_control_p) +
           " (on sound code any value is as likely as any other; only one below " +
           number_in_text(kNegativeControlAlpha) + " withholds the verdict).";
  }

  const VerdictInput& input_;
  const VerdictOptions& options_;
  const VerdictResult& result_;
};

}  // namespace

std::string number_in_text(double value) {
  std::string text = format_number(value, 3);
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

std::string not_finite(std::int64_t effects) {
  return count_of(static_cast<std::uint64_t>(effects), "effect") + (effects == 1 ? " is" : " are") +
         " NaN or infinite";
}

std::string too_few_clusters(std::size_t clusters) {
  return "a verdict needs " + std::to_string(kVerdictClusters) + " groups of prompts and there " +
         (clusters == 1 ? "is " : "are ") + std::to_string(clusters);
}

std::string positive_control_failed(const std::string& note) {
  return "the positive control, a model with planted heads, came out wrong" +
         (note.empty() ? "" : " (" + note + ")");
}

std::string negative_control_rejects(double p) {
  return "with answers swapped at random, which must leave no effect, some unit still stands out, "
         "p = " +
         number_in_text(p);
}

std::string swap_turns_nothing(MetricChoice metric) {
  return "the swap turns the sign of logit-diff alone, not of " + choice_name(metric);
}

std::string verdict_paragraph(const VerdictInput& input, const VerdictOptions& options,
                              const VerdictResult& result) {
  return Writer(input, options, result).paragraph();
}

}  // namespace attnscope
