#include "story.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "attnscope/render/capture_view.h"
#include "attnscope/render/label.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::demo {
namespace {

// Smaller changes of a logit difference are called nothing; float32 keeps about 7 digits.
constexpr double kNothing = 1e-6;

std::string percent(double share) {
  const double value = 100 * share;
  if (value < 0.005) return value == 0 ? "0 %" : "< 0.01 %";
  return format_number(value >= 99.95 ? 100 : value, value < 10 ? 2 : 3) + " %";
}

std::string fixed(double value, int decimals) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals);
  const std::string text(buffer, end.ptr);
  // No "-0.00".
  return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1)
                                                                              : text;
}

std::string signed_change(double value) {
  if (value == 0) return "0";
  return (value > 0 ? "+" : "") + fixed(value, 4);
}

std::string worth(const DemoHead& head) {
  const double change = std::abs(head.change());
  if (change < kNothing) return "changes nothing";
  if (change > 0.9 * std::abs(head.before)) return "changes everything";
  return "changes it by " + signed_change(head.change());
}

std::string silenced(const DemoHead& head) {
  return fixed(head.before, 2) + " -> " + fixed(head.after, 2);
}

std::string columns(const std::string& name, const std::string& loudness,
                    const std::string& induction, const std::string& silenced,
                    const std::string& change) {
  return "   " + pad_to_width(name, 6, Align::left) + pad_to_width(loudness, 9, Align::right) +
         pad_to_width(induction, 11, Align::right) + pad_to_width(silenced, 17, Align::right) +
         pad_to_width(change, 10, Align::right);
}

std::string heading() {
  return columns("head", "loudness", "induction", "before -> after", "change") + "\n";
}

std::string row(const DemoHead& head, const std::string& note) {
  return columns(head_name(head.head), percent(head.loudness),
                 std::isnan(head.induction) ? "-" : percent(head.induction), silenced(head),
                 signed_change(head.change())) +
         "   " + note + "\n";
}

// What one induction head does, beside what all of them do together.
std::string compare_with_all(const DemoHead& head, double all, int count) {
  if (std::abs(all) < kNothing) return "";
  const double share = head.change() / all;
  const char* lesson = share < 0.2   ? ": where several\n   heads do one job, one is hardly missed."
                       : share < 0.8 ? ": they share\n   the job."
                                     : ".";
  return "Silencing " + head_name(head.head) + " alone does " + fixed(100 * share, 0) +
         " % of what silencing all " + std::to_string(count) + " induction heads does" + lesson +
         "\n   ";
}

std::string indented(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    out += line.empty() ? "\n" : "   " + line + "\n";
  }
  out.pop_back();
  return out;
}

}  // namespace

std::string tell_list(const ListFacts& facts, const TerminalStyle& style) {
  const std::string name = head_name(facts.head.head);
  TerminalStyle narrow = style;
  narrow.columns -= 3;
  HeatMap map = head_map(*facts.file, 0, facts.head.head, Site::pattern);
  map.caption.clear();
  std::string others;
  if (facts.others > 0) {
    others = "; " + std::to_string(facts.others) + " more put over half of theirs there";
  }
  const std::string why = facts.answer == facts.followed
                              ? "Nothing in the language says so: it can only have\n"
                                "   looked up what followed the last word the first time."
                              : "The first time, " + quote(facts.followed) +
                                    " followed the\n   last word: it did not look that up here.";
  const std::string second_reading =
      facts.head.induction > 0.5
          ? " In the\n   second reading the head looks one step past the first:\n\n"
          : "\n\n";
  return "1. A small trained model reads a list twice\n\n   " + quote(facts.prompt) +
         "\n\n   It says next: " + quote(facts.answer) + " (" + percent(facts.probability) +
         " sure). " + why +
         " A head that looks there is\n   called an induction head. The share of each head's "
         "attention that goes there:\n\n" +
         indented(terminal_head_grid(head_grid(*facts.file, 0, Stack::self, "induction"), narrow)) +
         "\n   Head " + name + " (layer " + std::to_string(facts.head.head.layer) + ", head " +
         std::to_string(facts.head.head.head) + ") does it most: " + percent(facts.head.induction) +
         others +
         ".\n   Below, each row is a word that reads and each column a word that is read." +
         second_reading + indented(terminal_heat_map(map, narrow)) + "\n";
}

std::string tell_sentence(const SentenceFacts& facts) {
  const std::string verdict = facts.answer == facts.receiver
                                  ? "): who gives is not who receives."
                                  : "), though " + quote(facts.receiver) + " would be right.";
  return "2. The same model reads a sentence\n\n   " + quote(facts.prompt) +
         "\n\n   It says next: " + quote(facts.answer) + " (" + percent(facts.probability) + "; " +
         quote(facts.giver) + " gets " + percent(facts.giver_probability) + verdict +
         "\n   From the last word, head " + head_name(facts.look.head) + " looks hardest at " +
         quote(facts.receiver) + ": " + percent(facts.look.weight) + " of its attention.\n\n";
}

std::string tell_known_answer(const std::vector<DemoHead>& heads,
                              const std::vector<std::string>& truth) {
  std::string table;
  for (std::size_t i = 0; i < heads.size(); ++i) table += row(heads[i], truth[i]);
  const DemoHead& loud = loudest(heads);
  const DemoHead& induction = best_induction(heads);
  return "3. A model built by hand, where the truth is known\n\n"
         "   Looking is one thing, mattering another. This model repeats a list too, and its\n"
         "   five heads were written down, not trained. How well it does is one number, the\n"
         "   logit difference: the score of the right next word minus the mean score of the\n"
         "   others. We silence one head at a time (its output is set to zero) and run "
         "again.\n\n" +
         heading() + table +
         "\n   Loudness is the largest share of a head's attention that one word gets.\n   " +
         "The loudest head, " + head_name(loud.head) + ", " + worth(loud) +
         ". The induction head, " + head_name(induction.head) + ", " + worth(induction) +
         ".\n   Attention is a measurement; importance is a claim about an intervention.\n\n";
}

std::string tell_trained_test(const TrainedFacts& facts) {
  const std::vector<DemoHead>& heads = facts.heads;
  const DemoHead& loud = loudest(heads);
  const DemoHead& induction = best_induction(heads);
  const DemoHead& strongest =
      *std::max_element(heads.begin(), heads.end(), [](const DemoHead& a, const DemoHead& b) {
        return std::abs(a.change()) < std::abs(b.change());
      });
  std::string table = row(loud, "the loudest") + row(induction, "most induction");
  if (strongest.head != induction.head && strongest.head != loud.head) {
    table += row(strongest, "the largest change");
  }
  std::string together, compared;
  if (facts.induction_heads > 1) {
    const double all = facts.all_silenced - loud.before;
    together =
        columns("all " + std::to_string(facts.induction_heads), "", "",
                fixed(loud.before, 2) + " -> " + fixed(facts.all_silenced, 2), signed_change(all)) +
        "   the induction heads, all at once\n";
    compared = compare_with_all(induction, all, facts.induction_heads);
  }
  return "4. The same test on the trained model and its list\n\n"
         "   Here the logit difference is the score of " +
         quote(facts.answer) + " minus that of " + quote(facts.other) + ".\n\n" + heading() +
         table + together + "\n   " + compared +
         "This is one prompt and one way of silencing: a first look, not a verdict.\n\n";
}

std::string tell_end(const DemoResult& result, const std::string& model_folder, HeadId head) {
  const std::string folder = escape_untrusted(result.folder, 4096);
  std::string files;
  std::string line = "  ";
  for (const std::string& file : result.files) {
    if (display_width(line) + 1 + display_width(file) > 84) {
      files += line + "\n";
      line = "  ";
    }
    line += " " + file;
  }
  return "Everything is in " + folder + ":\n" + files + line + "\n\nNext:\n" +
         "   attnscope view " + folder + "/list.h5 " + folder + "/sentence.h5\n" +
         "   attnscope stats " + folder + "/list.h5 --sort previous\n" + "   attnscope show " +
         folder + "/list.h5 --head " + head_name(head) + "\n" + "   attnscope capture -m " +
         escape_untrusted(model_folder, 4096) + " --prompt \"The keys to the cabinet\" -o my.h5\n";
}

}  // namespace attnscope::demo
