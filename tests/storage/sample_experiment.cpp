#include "storage/sample_experiment.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "attnscope/storage/sweep_output.h"
#include "storage/sample.h"

namespace attnscope::testing {
namespace {

struct Places {
  std::vector<std::string> cells;
  std::vector<std::int64_t> layers, heads, positions;

  void add(std::int64_t layer, std::int64_t head, std::int64_t position) {
    std::string name = std::to_string(layer);
    if (head >= 0) name += "." + std::to_string(head);
    if (position >= 0) name += "@" + std::to_string(position);
    cells.push_back(name);
    layers.push_back(layer);
    heads.push_back(head);
    positions.push_back(position);
  }
};

Places places_of(CellShape shape) {
  Places places;
  if (shape == CellShape::layers) {
    for (int layer = 0; layer < 5; ++layer) places.add(layer, -1, -1);
  } else if (shape == CellShape::layer_position) {
    for (int layer = 0; layer < 2; ++layer) {
      for (int position = 0; position < 5; ++position) places.add(layer, -1, position);
    }
  } else if (shape == CellShape::layer_head_position) {
    for (int layer = 0; layer < 2; ++layer) {
      for (int head = 0; head < 2; ++head) {
        for (const int position : {0, 3, 4}) places.add(layer, head, position);
      }
    }
  } else {
    for (int layer = 2; layer < 5; ++layer) {
      for (int head = 0; head < 4; ++head) {
        const bool last = layer == 4 && head == 3;
        if (!(shape == CellShape::ragged && last)) places.add(layer, head, -1);
      }
    }
    if (shape == CellShape::shuffled) {
      std::swap(places.cells[1], places.cells[5]);
      std::swap(places.layers[1], places.layers[5]);
      std::swap(places.heads[1], places.heads[5]);
    }
  }
  return places;
}

}  // namespace

ExperimentRecord sample_experiment(const std::string& name, CellShape shape) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Places places = places_of(shape);
  const auto cells = static_cast<std::int64_t>(places.cells.size());
  ExperimentRecord record{.name = name,
                          .kind = name == "verdict" ? "verdict" : "ablate",
                          .metric = "logit-diff",
                          .noise_floor = 1e-6,
                          .spec_json = R"({"methods":"zero,mean"})"};
  record.attributes = {{"clusters", std::int64_t{12}}, {"delta", 0.05}, {"unit", "head"}};
  std::vector<double> effect, low, high, p, adjusted;
  std::vector<std::int64_t> n, undefined, verdict;
  for (std::int64_t i = 0; i < 2 * cells; ++i) {
    const double x = std::sin(static_cast<double>(i) * 0.7) * 3;
    effect.push_back(i == 4 ? nan : x);
    low.push_back(i == 4 || i == 5 ? nan : x - 0.25);
    high.push_back(i == 4 || i == 5 ? nan : x + 0.25);
    p.push_back(i == 4 ? nan : 0.01 * static_cast<double>(i % 50));
    adjusted.push_back(i == 4 ? nan : std::min(1.0, 0.05 * static_cast<double>(i % 50)));
    n.push_back(i == 4 ? 0 : 24);
    undefined.push_back(i == 4 ? 24 : 0);
  }
  for (std::int64_t i = 0; i < cells; ++i) verdict.push_back(i % 4 - 2);
  const std::vector<std::string> dims{"method", "cell"};
  const std::vector<std::int64_t> shape_of{2, cells};
  record.arrays = {
      {"effect", dims, shape_of, effect},       {"ci_low", dims, shape_of, low},
      {"ci_high", dims, shape_of, high},        {"ci_sim_low", dims, shape_of, low},
      {"ci_sim_high", dims, shape_of, high},    {"p", dims, shape_of, p},
      {"p_adjusted", dims, shape_of, adjusted}, {"baseline", {"prompt"}, {2}, {1.5, nan}}};
  record.integers = {{"n", dims, shape_of, n},
                     {"undefined", dims, shape_of, undefined},
                     {"verdict", {"cell"}, {cells}, verdict},
                     {"layers", {"cell"}, {cells}, places.layers},
                     {"heads", {"cell"}, {cells}, places.heads},
                     {"positions", {"cell"}, {cells}, places.positions}};
  record.texts = {{"methods", {"method"}, {2}, {"zero", "mean"}},
                  {"cells", {"cell"}, {cells}, places.cells}};
  return record;
}

void write_experiments(const std::string& path, const std::vector<ExperimentRecord>& records,
                       int prompts) {
  FileInfo info = sample_file_info({});
  info.kind = FileKind::ablate;
  std::vector<PromptRecord> list;
  for (int i = 0; i < prompts; ++i) list.push_back(sample_prompt(i, 5));
  Warnings warnings;
  SweepOutput output({.path = path, .file = info, .model = sample_model({}), .run = sample_run()},
                     warnings);
  output.finish(list, records);
}

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace attnscope::testing
