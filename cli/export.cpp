// attnscope export: options → ExportSpec → a picture or a table in a file.
#include <nlohmann/json.hpp>

#include "attnscope/render/experiment_view.h"
#include "attnscope/render/picture.h"
#include "attnscope/render/table.h"
#include "attnscope/spec/file_specs.h"
#include "attnscope/support/file.h"
#include "attnscope/support/utf8.h"
#include "capture_views.h"
#include "command.h"
#include "console/output.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

// What --format says, or what the name of the file ends with.
ExportFormat format_of(const ExportSpec& spec) {
  if (spec.format != ExportFormat::automatic) return spec.format;
  const std::size_t dot = spec.out.rfind('.');
  const std::string suffix = dot == std::string::npos ? "" : spec.out.substr(dot + 1);
  for (const ExportFormat format :
       {ExportFormat::csv, ExportFormat::npy, ExportFormat::png, ExportFormat::svg}) {
    if (suffix == choice_name(format)) return format;
  }
  fail_argument("EX01", {.where = "--format",
                         .what = "the name of the output does not tell the format",
                         .expected = "a name that ends with .png, .svg, .csv or .npy",
                         .got = quote(spec.out),
                         .next = "give --format"});
}

template <typename Drawing>  // HeatMap or HeatMapGrid
std::string bytes_of(const Drawing& drawing, ExportFormat format) {
  switch (format) {
    case ExportFormat::csv:
      return to_csv(drawing);
    case ExportFormat::npy:
      return to_npy(drawing);
    case ExportFormat::svg:
      return draw_picture(drawing, PictureFormat::svg);
    case ExportFormat::png:
    case ExportFormat::automatic:
      break;
  }
  return draw_picture(drawing, PictureFormat::png);
}

// csv holds every unit, method and measure, so that none can be chosen.
void check_whole_table(const ExportSpec& spec) {
  for (const auto& [option, value] :
       {std::pair("--method", &spec.method), {"--measure", &spec.measure}}) {
    if (value->empty()) continue;
    fail_argument("EX03", {.where = option,
                           .what = "csv holds every method and measure",
                           .expected = "png, svg or npy beside it",
                           .next = "leave it out"});
  }
}

// What was drawn, for --json, and the bytes of the file.
struct Export {
  nlohmann::ordered_json what;
  std::string bytes;
};

// A figure of an experiment. csv is the whole table, whatever the figure.
std::string figure_bytes(const CaptureReader& file, const EffectView& table, int method,
                         const ExportSpec& spec, ExportFormat format) {
  if (format == ExportFormat::csv) {
    check_whole_table(spec);
    return to_csv(table);
  }
  if (spec.figure == FigureChoice::scatter) {
    if (format == ExportFormat::npy) {
      fail_argument("EX02", {.where = "--out",
                             .what = "a scatter plot is no array",
                             .expected = "a name that ends with .csv, .png or .svg",
                             .got = quote(spec.out)});
    }
    ScatterPlot plot =
        attention_scatter(table, table.find_measure(spec.measure, "--measure"), method);
    plot.caption = experiment_caption(file, table, method);
    return draw_picture(plot,
                        format == ExportFormat::svg ? PictureFormat::svg : PictureFormat::png);
  }
  HeatMap map = spec.figure == FigureChoice::grid ? effect_grid(table, method)
                                                  : patch_map(table, method, common_tokens(file));
  map.caption = experiment_caption(file, table, method);
  return bytes_of(map, format);
}

Export export_figure(const CaptureReader& file, const ExportSpec& spec, ExportFormat format) {
  const ExperimentRecord record = find_experiment(file, spec.experiment);
  const EffectView table(record);
  const int method = table.find_method(spec.method, "--method");
  Export out{.what = {{"experiment", record.name}}, .bytes = {}};
  // csv holds every method, whatever the figure.
  if (format != ExportFormat::csv) {
    out.what["figure"] = choice_name(spec.figure);
    out.what["method"] = table.method_name(method);
  }
  out.what["units"] = table.cells();
  out.bytes = figure_bytes(file, table, method, spec, format);
  return out;
}

Export export_maps(const CaptureReader& file, const ExportSpec& spec, ExportFormat format,
                   Warnings& warnings) {
  require_maps(file);
  const int prompt = find_prompt(file, spec.prompt_id);
  const Site site = map_site(spec.hook);
  const std::vector<HeadId> heads =
      spec.heads.empty() ? std::vector<HeadId>{parse_head(file, spec.head, "--head")}
                         : parse_stored_heads(file, prompt, site, spec.heads, warnings);
  Export out{.what = {{"prompt", prompt_group_name(prompt)}, {"hook", choice_name(spec.hook)}},
             .bytes = {}};
  for (const HeadId head : heads) out.what["heads"].push_back(head_name(head));
  out.bytes = spec.heads.empty() ? bytes_of(head_map(file, prompt, heads.front(), site), format)
                                 : bytes_of(head_maps(file, prompt, heads, site), format);
  return out;
}

std::string as_json(const ExportSpec& spec, ExportFormat format, const Export& done,
                    const Warnings& warnings) {
  nlohmann::ordered_json json = done.what;
  json["format"] = choice_name(format);
  json["path"] = escape_untrusted(spec.out, 4096);
  json["file_bytes"] = done.bytes.size();
  json["warnings"] = warnings.lines();
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int run_export(const Command& command, const CommandLine& line) {
  ExportSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.argument({"FILE", "", "capture file, or the file of an experiment"}, spec.file);
  options.group("What to export (--head, --heads or --figure is required)");
  options.text({"--head", "L.H", "one head, as in 5.1: its map"}, spec.head);
  options.text({"--heads", "LIST", "several heads, as in 5.*,6.1: a grid of their maps"},
               spec.heads);
  options.text({"--prompt-id", "ID", "prompt, as in p000000 (default: the first)"}, spec.prompt_id);
  options.choice({"--hook", "", "weights after the softmax, or scores before it"}, spec.hook);
  options.group("Experiments");
  options.choice(
      {"--figure", "", "attention against effect, heads by layer, or positions by layer"},
      spec.figure);
  options.text({"--method", "NAME", "method whose effects are drawn (default: the first)"},
               spec.method);
  options.text({"--measure", "NAME", "attention measure of a scatter plot (default: the first)"},
               spec.measure);
  options.text(
      {"--experiment", "NAME", "experiment, where the file holds several (default: the first)"},
      spec.experiment);
  options.group("Output");
  options.text({"-o,--out", "FILE", "file to write (required)"}, spec.out);
  options.choice({"--format", "", "picture or table (default: auto, by the ending of the file)"},
                 spec.format);
  add_force_option(options, spec.force);
  add_json_option(options, spec.json);
  verb.note(
      "Several heads",
      "'0.*' is every head of layer 0, '*.*' every head, '0.0,1.3' these two. png and svg draw\n"
      "one small map a head, csv has a line for each value, npy an array [head, query, key].");
  verb.note("Figures of experiments",
            "scatter needs the file of a verdict: causal units are filled, those without effect\n"
            "crossed, undetermined ones hollow. csv holds every unit and method, whatever the\n"
            "figure.");
  if (!verb.parse(line)) return 0;
  options.exclusive("--head", "--heads");
  options.exclusive("--head", "--figure");
  options.exclusive("--heads", "--figure");
  validate(spec);
  const ExportFormat format = format_of(spec);

  const CaptureReader file(spec.file);
  Warnings warnings;
  const Export done = spec.figure == FigureChoice::none ? export_maps(file, spec, format, warnings)
                                                        : export_figure(file, spec, format);
  console::print_warnings(warnings.lines());
  write_file_atomically(spec.out, done.bytes, spec.force ? WriteMode::replace : WriteMode::create);
  console::print(spec.json ? as_json(spec, format, done, warnings)
                           : "Wrote " + escape_untrusted(spec.out, 4096) + ".\n");
  return 0;
}

}  // namespace attnscope::cli
