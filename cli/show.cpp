// attnscope show: options → ShowSpec → one head's map as text.
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/render/terminal.h"
#include "attnscope/spec/file_specs.h"
#include "attnscope/support/utf8.h"
#include "capture_views.h"
#include "command.h"
#include "console/output.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

// {"head", "queries", "keys", "values" [q k]}; −inf of scores becomes null.
std::string as_json(const HeatMap& map, const std::string& head) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int r = 0; r < map.rows; ++r) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (int c = 0; c < map.columns; ++c) {
      const float value = map.at(r, c);
      row.push_back(std::isfinite(value) ? nlohmann::ordered_json(value)
                                         : nlohmann::ordered_json());
    }
    rows.push_back(row);
  }
  const nlohmann::ordered_json json = {{"head", head},
                                       {"query_positions", map.row_positions},
                                       {"key_positions", map.column_positions},
                                       {"queries", map.row_labels},
                                       {"keys", map.column_labels},
                                       {"values", rows}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int run_show(const Command& command, const CommandLine& line) {
  ShowSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.argument({"FILE", "", "capture file"}, spec.file);
  options.group("What to show");
  options.text({"--head", "L.H", "layer and head, as in 5.1 (required)"}, spec.head);
  options.text({"--prompt-id", "ID", "prompt, as in p000000 (default: the first)"}, spec.prompt_id);
  options.choice({"--hook", "", "weights after the softmax, or scores before it"}, spec.hook);
  options.group("Output");
  add_json_option(options, spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);

  const CaptureReader file(spec.file);
  require_maps(file);
  const int prompt = find_prompt(file, spec.prompt_id);
  const HeadId head = parse_head(file, spec.head, "--head");
  const HeatMap map = head_map(file, prompt, head, map_site(spec.hook));
  console::print(spec.json ? as_json(map, head_name(head))
                           : terminal_heat_map(map, terminal_style_of(STDOUT_FILENO)));
  return 0;
}

}  // namespace attnscope::cli
