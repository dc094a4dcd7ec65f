#include "attnscope/render/report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/render/experiment_view.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "figure_scene.h"
#include "html.h"
#include "layout.h"

namespace attnscope {

using namespace render;  // NOLINT: the module's own helpers

namespace {

constexpr int kBarWidth = 132;
constexpr int kBarHeight = 16;

std::string tag(const std::string& name, const std::string& attributes,
                const std::string& content) {
  return "<" + name + (attributes.empty() ? "" : " " + attributes) + ">" + content + "</" + name +
         ">\n";
}

std::string css_class(VerdictLevel level) {
  switch (level) {
    case VerdictLevel::causal:
      return "causal";
    case VerdictLevel::no_effect:
      return "none";
    case VerdictLevel::undetermined:
    case VerdictLevel::backed_up:
      break;
  }
  return "open";
}

// Short enough for a column.
const char* short_name(VerdictLevel level) {
  return level == VerdictLevel::backed_up ? "backed up" : verdict_name(level);
}

// A number that the script sorts by; nothing for NaN.
std::string sort_key(double value) {
  return "data-v=\"" + (std::isnan(value) ? "" : format_number(value)) + "\"";
}

// Interval and value of one effect on a scale that all bars of a column share.
class IntervalBar {
 public:
  IntervalBar(double low, double high, double delta) : low_(low), high_(high), delta_(delta) {
    if (!(high_ > low_)) high_ = low_ + 1;
  }

  std::string draw(double value, double from, double to, const std::string& mark) const {
    if (std::isnan(value)) return "<span class=\"soft\">–</span>";
    std::string svg = "<svg class=\"bar\" viewBox=\"0 0 " + std::to_string(kBarWidth) + " " +
                      std::to_string(kBarHeight) + "\" aria-hidden=\"true\">";
    if (delta_ > 0) {
      svg += "<rect x=\"" + at(-delta_) + "\" y=\"0\" width=\"" +
             format_number(place(delta_) - place(-delta_), 5) + "\" height=\"16\" " +
             "fill=\"var(--band)\"/>";
    }
    svg += "<path d=\"M" + at(0) + " 0V16\" stroke=\"var(--soft)\" stroke-width=\".75\"/>";
    if (!std::isnan(from) && !std::isnan(to)) {
      svg += "<path d=\"M" + at(from) + " 8H" + at(to) + "\" stroke=\"var(--" + mark +
             ")\" stroke-width=\"2\"/>";
    }
    return svg + "<circle cx=\"" + at(value) + "\" cy=\"8\" r=\"3.5\" fill=\"var(--" + mark +
           ")\"/></svg>";
  }

 private:
  double place(double value) const {
    const double share = std::clamp((value - low_) / (high_ - low_), 0.0, 1.0);
    return 4 + share * (kBarWidth - 8);
  }
  std::string at(double value) const { return format_number(place(value), 5); }

  double low_, high_, delta_;
};

class ReportPage {
 public:
  explicit ReportPage(const VerdictReport& report)
      : report_(report),
        record_(report.record),
        table_(report.record),
        delta_(report.record.number_attribute("delta").value_or(0)) {
    simultaneous_ = record_.array("ci_sim_low") != nullptr;
    has_verdicts_ = withheld().empty() && record_.integer("verdict") != nullptr;
  }

  std::string write() const {
    const std::string body = header() + finding() + tiles() + scatter_card() + maps_card() +
                             heads_card() + controls_card() + notes_card() + footer();
    return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
           "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>Verdict: " +
           html_text(report_.model.name) + "</title>\n<style>" + kReportStyle +
           "</style>\n</head>\n<body>\n<main>\n" + body + "</main>\n<script>" + kReportScript +
           "</script>\n</body>\n</html>\n";
  }

 private:
  std::string single_text(const char* name) const {
    const NamedTexts* text = record_.text(name);
    return text == nullptr || text->values.empty() ? "" : text->values.front();
  }
  std::string withheld() const { return single_text("withheld"); }

  double low(int method, int cell) const {
    return table_.number(simultaneous_ ? "ci_sim_low" : "ci_low", method, cell);
  }
  double high(int method, int cell) const {
    return table_.number(simultaneous_ ? "ci_sim_high" : "ci_high", method, cell);
  }

  std::string header() const {
    std::vector<std::string> about{html_text(report_.model.name) + " (" +
                                   html_text(report_.model.family) + ")"};
    std::string prompts = count_of(static_cast<std::uint64_t>(report_.prompts), "prompt");
    if (report_.clusters > 0) {
      prompts += " in " + count_of(static_cast<std::uint64_t>(report_.clusters), "group");
    }
    about.push_back(std::move(prompts));
    about.push_back("metric " + html_text(record_.metric));
    about.push_back("ablated by " + html_text(join(record_.text("methods")->values, ", ")));
    std::string line;
    for (const std::string& part : about) line += "<span>" + part + "</span>";
    return tag("header", "",
               tag("div", "class=\"over\"", "attnscope verdict") +
                   tag("h1", "", "Does attention say which heads matter?") +
                   tag("p", "class=\"about\"", line));
  }

  // Of a withheld verdict the paragraph says why.
  std::string finding() const {
    const bool held = !withheld().empty();
    const std::string paragraph = single_text("paragraph");
    std::string text;
    for (const std::string& line : split(paragraph.empty() ? withheld() : paragraph, '\n')) {
      if (trim(line).empty()) continue;
      // The first sentence is the finding; what follows is to be read with more patience.
      const std::size_t end = text.empty() ? line.find(". ") : std::string::npos;
      const std::string first = line.substr(0, end == std::string::npos ? end : end + 1);
      text += tag("p", text.empty() ? "class=\"first\"" : "", html_text(trim(first)));
      if (end != std::string::npos) text += tag("p", "", html_text(trim(line.substr(end + 2))));
    }
    if (text.empty()) return "";
    return tag("section", held ? "class=\"card finding held\"" : "class=\"card finding\"", text);
  }

  static std::string tile(const std::string& mark, const std::string& value,
                          const std::string& name) {
    return "<div class=\"tile " + mark + "\"><b>" + value + "</b><span>" + name + "</span></div>\n";
  }

  int units_of(VerdictLevel level) const {
    int count = 0;
    for (int cell = 0; cell < table_.cells(); ++cell) {
      count += table_.verdict(cell) == level ? 1 : 0;
    }
    return count;
  }

  std::string tiles() const {
    std::string html;
    if (has_verdicts_) {
      for (const VerdictLevel level : {VerdictLevel::causal, VerdictLevel::no_effect}) {
        html += tile(css_class(level), std::to_string(units_of(level)), verdict_name(level));
      }
      const int backed_up = units_of(VerdictLevel::backed_up);
      html += tile("open", std::to_string(units_of(VerdictLevel::undetermined) + backed_up),
                   backed_up == 0
                       ? "undetermined"
                       : "undetermined, " + std::to_string(backed_up) + " of them backed up");
    }
    if (delta_ > 0)
      html += tile("", "±" + html_number(delta_),
                   "δ: causal takes an interval beyond it under two methods");
    html += tile("", html_number(record_.noise_floor), "noise floor");
    return tag("div", "class=\"tiles\"", html);
  }

  // Attention against effect for each measure, the first one large.
  std::string scatter_card() const {
    if (table_.measures() == 0) return "";
    std::string more;
    for (int m = 1; m < table_.measures(); ++m) more += scatter(m);
    std::string html =
        tag("h2", "", "Attention against effect") +
        tag("p", "class=\"lead\"",
            "One point a unit: to the right how strongly it attends, upwards what the metric gains "
            "when it is removed, downwards what it loses. Were attention a guide to importance, "
            "points far to the right would lie far from zero." +
                bars_text() + prompts_text()) +
        tag("div", "class=\"two\"", scatter(0) + correlations(0)) + further_correlations();
    if (!more.empty()) {
      html += tag(
          "details", "",
          tag("summary", "", "The other attention measures") + tag("div", "class=\"maps\"", more));
    }
    return tag("section", "class=\"card\"", html);
  }

  // What the bars of plots and tables are.
  std::string bars_text() const {
    return simultaneous_ ? " Bars are 95 % intervals that hold for all units at once, so that each "
                           "is wider than one for its unit alone; the shaded band is ±δ."
                         : " Bars are 95 % intervals of each unit alone; the shaded band is ±δ.";
  }

  std::string prompts_text() const {
    const std::string prompts = prompts_used(table_);
    return prompts.empty() ? "" : " " + prompts;
  }

  std::string scatter(int measure) const {
    const std::vector<NamedColor> colors{{kInk, "var(--ink)"},       {kSoftInk, "var(--soft)"},
                                         {kCausal, "var(--causal)"}, {kNoEffect, "var(--none)"},
                                         {kBand, "var(--band)"},     {kUndetermined, "var(--open)"},
                                         {kGridLine, "var(--grid)"}, {kPaper, "var(--surface)"}};
    ScatterPlot plot = attention_scatter(table_, measure, 0);
    if (!has_verdicts_) {
      for (ScatterPoint& point : plot.points) point.mark = PointMark::plain;
    }
    return tag("figure", "",
               inline_svg_of(scatter_scene(plot, Surroundings::left_out), colors,
                             plot.y_title + " against " + plot.x_title));
  }

  // Every measure of attention with the effects of one method.
  std::string correlations(int method) const {
    if (record_.array("rank_correlation") == nullptr) return "";
    const IntervalBar bar(-1, 1, 0);
    std::string rows;
    for (int m = 0; m < table_.measures(); ++m) {
      const double value = table_.by_measure("rank_correlation", method, m);
      const double from = table_.by_measure("rank_correlation_low", method, m);
      const double to = table_.by_measure("rank_correlation_high", method, m);
      const double p = table_.by_measure("rank_correlation_p", method, m);
      rows += tag("tr", "",
                  "<td>" + html_text(table_.measure_name(m)) + "</td><td>" + html_signed(value) +
                      "</td><td>" + interval_text(from, to) + "</td><td>" +
                      html_p(p, table_.smallest_rank_p(method, m)) + "</td><td>" +
                      bar.draw(value, from, to, "causal") + "</td>");
    }
    return tag("figure", "",
               "<figcaption><b>Rank correlation with the |effect| of " +
                   html_text(table_.method_name(method)) + "</b>, within layers</figcaption>" +
                   tag("table", "",
                       "<thead><tr><th>measure</th><th>τ-b</th><th>95 %</th><th>p</th><th></th>"
                       "</tr></thead><tbody>" +
                           rows + "</tbody>") +
                   ceiling(method));
  }

  std::string ceiling(int method) const {
    const double value = table_.by_measure("rank_ceiling", method, 0);
    if (std::isnan(value)) return "";
    const double attainable = table_.by_measure("rank_attainable", method, 0);
    return tag("p", "class=\"soft small\"",
               "Ceiling " + html_number(value) + " " +
                   interval_text(table_.by_measure("rank_ceiling_low", method, 0),
                                 table_.by_measure("rank_ceiling_high", method, 0)) +
                   ": how well the effects of one half of the prompts rank those of the other." +
                   (std::isnan(attainable)
                        ? ""
                        : " A perfect measure would reach " + html_number(attainable) + "."));
  }

  // What interval and p of a rank correlation are, and the tables of the further methods.
  std::string further_correlations() const {
    if (record_.array("rank_correlation") == nullptr) return "";
    std::string html = tag(
        "p", "class=\"soft small\"",
        "The interval says what other prompts might give for these units, by drawing groups again; "
        "p says how often units shuffled within their layers rank as well. With few units the "
        "interval may exclude 0 where p is large: then other units might show nothing.");
    std::string more;
    for (int method = 1; method < table_.methods(); ++method) more += correlations(method);
    if (more.empty()) return html;
    return html + tag("details", "",
                      tag("summary", "", "Rank correlations with the effects of other methods") +
                          tag("div", "class=\"maps\"", more));
  }

  static std::string interval_text(double from, double to) {
    if (std::isnan(from) || std::isnan(to)) return "<span class=\"soft\">no interval</span>";
    return "<span class=\"soft\">[" + html_number(from) + ", " + html_number(to) + "]</span>";
  }

  bool has_grid() const {
    for (int cell = 0; cell < table_.cells(); ++cell) {
      if (table_.layer(cell) >= 0 && table_.head(cell) >= 0 && table_.position(cell) < 0) {
        return true;
      }
    }
    return false;
  }

  // Attention beside the effects of each method, unit by unit.
  std::string maps_card() const {
    if (!has_grid()) return "";
    const std::vector<NamedColor> colors{{kInk, "var(--ink)"}, {kSoftInk, "var(--soft)"}};
    const auto figure = [&](const HeatMap& map, const std::string& what) {
      return tag("figure", "",
                 "<figcaption>" + what + "</figcaption>" +
                     inline_svg_of(map_scene(map, Surroundings::left_out), colors, map.title));
    };
    std::string html;
    if (table_.measures() > 0) {
      html += figure(attention_grid(table_, 0),
                     "<b>Attention</b>, " + html_text(table_.measure_name(0)));
    }
    for (int method = 0; method < table_.methods(); ++method) {
      html += figure(effect_grid(table_, method),
                     "<b>Effect</b>, " + html_text(table_.method_name(method)));
    }
    return tag("section", "class=\"card\"",
               tag("h2", "", "Layer by layer") +
                   tag("p", "class=\"lead\"",
                       "The same units at the same places. Red raises the metric when the unit is "
                       "ablated, blue lowers it.") +
                   tag("div", "class=\"maps\"", html));
  }

  std::string heads_card() const {
    const bool direct = record_.array("direct") != nullptr;
    const bool detectable = record_.array("minimal_detectable") != nullptr;
    const std::string method = html_text(table_.method_name(0));
    std::string head = "<th>unit</th>";
    if (has_verdicts_) head += "<th class=\"l\">verdict</th>";
    for (int m = 0; m < table_.methods(); ++m) {
      head += "<th>" + html_text(table_.method_name(m)) + "</th>";
    }
    head += "<th>95 %" + std::string(simultaneous_ ? ", all at once" : "") + " (" + method +
            ")</th><th>p adjusted (" + method + ")</th>";
    if (direct) head += "<th>direct</th>";
    if (detectable) head += "<th>detectable (largest over methods)</th>";
    for (int m = 0; m < table_.measures(); ++m) {
      head += "<th>" + html_text(table_.measure_name(m)) + "</th>";
    }
    const IntervalBar bar = effect_bar();
    std::vector<double> largest;
    for (int m = 0; m < table_.measures(); ++m) largest.push_back(largest_attention(m));
    std::string rows;
    for (const int cell : table_.by_largest_effect()) {
      rows += row(cell, bar, largest, direct, detectable);
    }
    return tag(
        "section", "class=\"card\"",
        tag("h2", "", "Every unit") +
            tag("p", "class=\"lead\"",
                "The largest |effect| over methods first; a click on a title sorts by it; where "
                "the window is narrow the table scrolls sideways. Effect = metric after removal − "
                "before. " +
                    std::string(simultaneous_ ? has_p()
                                                    ? "Intervals and p hold for all units at once."
                                                    : "Intervals hold for all units at once."
                                              : "Intervals are for one unit at a time.") +
                    prompts_text()) +
            tag("div",
                "class=\"scroll\" tabindex=\"0\" role=\"region\" "
                "aria-label=\"Every unit\"",
                tag("table", "class=\"sortable\"",
                    "<thead><tr>" + head + "</tr></thead>\n<tbody>\n" + rows + "</tbody>")));
  }

  // Metrics that cannot be negative have no p.
  bool has_p() const {
    for (int cell = 0; cell < table_.cells(); ++cell) {
      if (!std::isnan(table_.number("p_adjusted", 0, cell))) return true;
    }
    return false;
  }

  // The scale of the bars holds all effects; intervals that reach further are cut.
  IntervalBar effect_bar() const {
    double from = -delta_, to = delta_;
    for (int cell = 0; cell < table_.cells(); ++cell) {
      const double value = table_.effect(0, cell);
      if (!std::isfinite(value)) continue;
      from = std::min(from, value);
      to = std::max(to, value);
    }
    const double room = 0.08 * (to - from);
    return {from - room, to + room, delta_};
  }

  double largest_attention(int measure) const {
    double most = 0;
    for (int cell = 0; cell < table_.cells(); ++cell) {
      const double value = table_.attention(measure, cell);
      if (std::isfinite(value)) most = std::max(most, value);
    }
    return most;
  }

  std::string row(int cell, const IntervalBar& bar, const std::vector<double>& largest, bool direct,
                  bool detectable) const {
    std::string html = "<td " + sort_key(place_key(cell)) + ">" + html_text(table_.cell_name(cell));
    if (table_.is_marked("unspecific", cell)) {
      html += " <span class=\"mark\" title=\"a placebo metric moves as well\">unspecific</span>";
    }
    html += "</td>";
    const auto verdict = table_.verdict(cell);
    if (has_verdicts_) {
      html += "<td class=\"l\" " +
              sort_key(verdict ? static_cast<double>(*verdict)
                               : std::numeric_limits<double>::quiet_NaN()) +
              ">" +
              (verdict ? "<span class=\"tag " + css_class(*verdict) + "\">" + short_name(*verdict) +
                             "</span>"
                       : "") +
              "</td>";
    }
    for (int m = 0; m < table_.methods(); ++m) {
      html += cell_of(table_.effect(m, cell), html_signed(table_.effect(m, cell)));
    }
    const std::string mark = has_verdicts_ && verdict ? css_class(*verdict) : "causal";
    html += "<td " + sort_key(table_.effect(0, cell)) + " title=\"" + html_number(low(0, cell)) +
            " to " + html_number(high(0, cell)) + "\">" +
            bar.draw(table_.effect(0, cell), low(0, cell), high(0, cell), mark) + "</td>";
    const double p = table_.number("p_adjusted", 0, cell);
    html += cell_of(p, html_p(p, table_.smallest_p()));
    if (direct) {
      const double value = table_.number("direct", 0, cell);
      html += cell_of(value, html_signed(value));
    }
    if (detectable) html += number_cell(table_.number("minimal_detectable", 0, cell));
    for (int m = 0; m < table_.measures(); ++m) {
      const double value = table_.attention(m, cell);
      const double most = largest[static_cast<std::size_t>(m)];
      const double share = most > 0 && value > 0 ? 100 * value / most : 0;
      html += "<td class=\"measure\" style=\"--share:" + format_number(share, 3) + "%\" " +
              sort_key(value) + ">" + html_number(value) + "</td>";
    }
    return tag("tr", "", html);
  }

  // Units sort by layer, then head or position.
  double place_key(int cell) const {
    return static_cast<double>(table_.layer(cell)) * 1e6 +
           static_cast<double>(std::max(table_.head(cell), table_.position(cell)));
  }

  static std::string cell_of(double value, const std::string& text) {
    return "<td " + sort_key(value) + ">" + text + "</td>";
  }
  static std::string number_cell(double value) { return cell_of(value, html_number(value)); }

  std::string controls_card() const {
    const NamedTexts* names = record_.text("controls");
    const NamedTexts* results = record_.text("control_results");
    const NamedTexts* details = record_.text("control_details");
    if (names == nullptr || results == nullptr || details == nullptr ||
        names->values.size() != results->values.size() ||
        names->values.size() != details->values.size()) {
      return "";
    }
    std::string list;
    for (std::size_t i = 0; i < names->values.size(); ++i) {
      const std::string& result = results->values[i];
      const bool known = result == "passed" || result == "failed";
      list += "<dt>" + html_text(names->values[i]) + "</dt><dd><span class=\"tag " +
              (known ? result : "reported") + "\">" + html_text(result) + "</span> " +
              html_text(details->values[i]) + "</dd>\n";
    }
    return tag("section", "class=\"card\"",
               tag("h2", "", "Controls") +
                   tag("p", "class=\"lead\"",
                       "What has to come out right before any verdict is given, and what the "
                       "effects are compared with.") +
                   tag("dl", "", list));
  }

  std::string notes_card() const {
    std::string list =
        tag("li", "",
            "<b>causal</b>: the interval that holds for all units at once lies outside ±δ with one "
            "sign under at least two methods.") +
        tag("li", "",
            "<b>no effect</b>: total, direct and conditional effects are shown to be smaller than "
            "δ. <b>undetermined</b>: neither; <b>backed up</b>: no total effect, but others stand "
            "in for the unit.") +
        tag("li", "",
            "Attention is a measurement. Importance is a claim about an intervention, and holds "
            "for these prompts, this metric and these methods.");
    if (record_.array("direct") != nullptr) {
      list += tag("li", "",
                  "<b>direct</b>: the part of the effect that passes through no later layer; the "
                  "rest of the network keeps the values that it had.");
    }
    if (record_.array("minimal_detectable") != nullptr) {
      list += tag("li", "",
                  "<b>detectable</b>: the effect that would have been seen in four of five cases "
                  "with as many prompts, under the method that sees least: the largest over "
                  "methods.");
    }
    if (const NamedTexts* notes = record_.text("notes")) {
      for (const std::string& note : notes->values) list += tag("li", "", html_text(note));
    }
    return tag("section", "class=\"card\"",
               tag("h2", "", "How to read this") + tag("ul", "", list));
  }

  std::string footer() const {
    return tag("footer", "",
               "Weights " + html_text(report_.model.weights_sha256.substr(0, 12)) +
                   " · computed in " + html_text(report_.run.dtype) + " on " +
                   html_text(report_.run.device) + ", engine " + html_text(report_.run.engine) +
                   ", seed " + std::to_string(report_.run.seed) +
                   " · seen from the model's weights as they "
                   "are, without folding");
  }

  const VerdictReport& report_;
  const ExperimentRecord& record_;
  EffectView table_;
  double delta_ = 0;
  bool simultaneous_ = false;
  bool has_verdicts_ = false;
};

}  // namespace

std::string verdict_report_html(const VerdictReport& report) {
  return ReportPage(report).write();
}

VerdictReport verdict_report_of(const CaptureReader& file) {
  VerdictReport report{.model = file.model(), .run = file.run(), .prompts = file.prompts()};
  for (ExperimentRecord& record : file.experiments()) {
    if (record.kind != file_kind_name(FileKind::verdict) || record.array("effect") == nullptr) {
      continue;
    }
    report.clusters = record.integer_attribute("clusters").value_or(0);
    report.record = std::move(record);
    return report;
  }
  throw Error(ErrorKind::input, "RN08",
              {.where = escape_untrusted(file.path(), 4096),
               .what = "the file holds no verdict",
               .expected = "a file of attnscope verdict",
               .got = std::string("a file of kind ") + file_kind_name(file.file().kind)});
}

}  // namespace attnscope
