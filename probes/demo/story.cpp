#include "story.h"

#include <algorithm>
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
  return format_number(value >= 99.95 ? 100 : value, value < 10 ? 2 : 3) + " %";
}

// With two decimals and a sign where asked.
std::string two_decimals(double value) {
  const double rounded = std::round(value * 100) / 100;
  std::string text = format_number(std::abs(rounded));
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) text += ".00";
  if (dot != std::string::npos && text.size() - dot == 2) text += "0";
  return (rounded < 0 ? "-" : "") + text;
}

std::string signed_change(double value) {
  if (value == 0) return "0";
  const std::string text = format_number(value, 6);
  return value > 0 ? "+" + text : text;
}

std::string worth(const DemoHead& head) {
  const double change = std::abs(head.change());
  if (change < kNothing) return "changes nothing";
  if (change > 0.9 * std::abs(head.before)) return "changes everything";
  return "changes it by " + signed_change(head.change());
}

std::string silenced(const DemoHead& head) {
  return two_decimals(head.before) + " -> " + two_decimals(head.after);
}

std::string row(const DemoHead& head, const std::string& truth) {
  const std::string induction = std::isnan(head.induction) ? "-" : percent(head.induction);
  return "     " + pad_to_width(head_name(head.head), 6, Align::left) +
         pad_to_width(percent(head.loudness), 9, Align::right) +
         pad_to_width(induction, 11, Align::right) +
         pad_to_width(silenced(head), 17, Align::right) +
         pad_to_width(signed_change(head.change()), 12, Align::right) + "   " + truth + "\n";
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
  const std::string name = head_name(facts.head);
  TerminalStyle narrow = style;
  narrow.columns -= 3;
  HeatMap map = head_map(*facts.file, 0, facts.head, Site::pattern);
  map.caption.clear();
  return "1. A small trained model reads a list twice\n\n"
         "   " +
         quote(facts.prompt) + "\n\n   It says next: " + quote(facts.answer) + " (" +
         percent(facts.probability) +
         " sure). Nothing in the language says so; it can only have\n"
         "   looked at what followed the last word the first time. A head that does this is\n"
         "   called an induction head. For every head, the share of its attention that goes\n"
         "   there:\n\n" +
         indented(terminal_head_grid(head_grid(*facts.file, 0, Stack::self, "induction"), narrow)) +
         "\n   It is head " + name + " (layer " + std::to_string(facts.head.layer) + ", head " +
         std::to_string(facts.head.head) + "): " + percent(facts.induction) +
         ". Each row below is a word that reads, each column a word\n"
         "   that is read; the bright diagonal in the lower half is the second reading\n"
         "   looking one step past the first:\n\n" +
         indented(terminal_heat_map(map, narrow)) + "\n";
}

std::string tell_sentence(const SentenceFacts& facts) {
  return "2. The same model reads a sentence\n\n   " + quote(facts.prompt) +
         "\n\n   It says next: " + quote(facts.answer) + " (" + percent(facts.probability) +
         "), and not " + quote(facts.other) + " (" + percent(facts.other_probability) +
         "): who gives is not who receives.\n   From the last word, head " +
         head_name(facts.look.head) + " looks hardest at " + quote(facts.answer) + ": " +
         percent(facts.look.weight) + " of its attention.\n\n";
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
         "   others. We silence one head at a time (its output is set to zero) and run again.\n\n"
         "     head  loudness  induction  before -> after      change   what it was built to do\n" +
         table +
         "\n   Loudness is the largest share of a head's attention that one word gets.\n   " +
         "The loudest head, " + head_name(loud.head) + ", " + worth(loud) +
         ". The induction head, " + head_name(induction.head) + ", " + worth(induction) +
         ".\n   Attention is a measurement; importance is a claim about an intervention.\n\n";
}

std::string tell_trained_test(const std::vector<DemoHead>& heads, const std::string& answer,
                              const std::string& other) {
  const DemoHead& loud = loudest(heads);
  const DemoHead& induction = best_induction(heads);
  const DemoHead& strongest =
      *std::max_element(heads.begin(), heads.end(), [](const DemoHead& a, const DemoHead& b) {
        return std::abs(a.change()) < std::abs(b.change());
      });
  std::string table = row(induction, "most induction") + row(loud, "loudest");
  if (strongest.head != induction.head && strongest.head != loud.head) {
    table += row(strongest, "largest change");
  }
  return "4. The same test on the trained model and its list\n\n"
         "   Here the logit difference is the score of " +
         quote(answer) + " minus that of " + quote(other) + ".\n\n" +
         "     head  loudness  induction  before -> after      change\n" + table +
         "\n   One prompt and one way of silencing: a first look, not a verdict.\n\n";
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
         "   attnscope stats " + folder + "/list.h5 --sort previous\n" + "   attnscope show " +
         folder + "/list.h5 --head " + head_name(head) + "\n" + "   attnscope capture -m " +
         escape_untrusted(model_folder, 4096) + " --prompt \"The keys to the cabinet\" -o my.h5\n";
}

}  // namespace attnscope::demo
