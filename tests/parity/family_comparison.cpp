#include "family_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>

#include "attnscope/support/warnings.h"
#include "recorder.h"

namespace attnscope::testing {
namespace {

constexpr char kAblated[] = "ablate_zero.attn.hook_z";

bool is_logits(const std::string& array) {
  return array == "logits" || array == "last_hidden_state" || array == kAblated;
}

// Column of the table that an array belongs to.
std::string kind_of(const OracleCase& input, const std::string& array) {
  if (input.name.starts_with("pad")) return "padded";
  if (array == kAblated) return "ablated logits";
  if (is_logits(array)) return "logits";
  const std::string site = site_info(parse_hook(array)->site).short_name;
  return site == "normalized_resid_post" ? "resid_post" : site;
}

// One zero ablation a batch row: row h loses head h.
at::Tensor ablated_logits(const Model& model, const TokenRow& ids, Engine engine) {
  std::vector<at::Tensor> layers;
  for (int l = 0; l < model.config().n_layers; ++l) {
    const int n_heads = model.config().n_heads(l);
    const Batch batch = make_batch(std::vector<TokenRow>(static_cast<std::size_t>(n_heads), ids));
    Taps taps;
    for (int h = 0; h < n_heads; ++h) {
      taps.interventions.push_back(
          {.hook = {Site::z, l}, .operation = Operation::zero, .rows = {h}, .heads = {h}});
    }
    const RunOptions options{.engine = engine, .logits = {.at = LogitsAt::last}};
    layers.push_back(model.run(batch, taps, options).logits.squeeze(1));
  }
  return at::stack(layers).cpu();
}

class Comparer {
 public:
  explicit Comparer(DType dtype) : dtype_(dtype), tolerance_(tolerance_of(dtype)) {}

  void compare(const std::string& where, const std::string& array, const at::Tensor& got,
               const at::Tensor& expected, const std::string& kind) {
    const double difference = largest_difference(got, expected);
    const double scale = std::max(1.0, expected.abs().max().item<double>());
    const double allowed = (is_logits(array) ? tolerance_.logits : tolerance_.hidden) * scale;
    double& largest = result.largest[kind];
    largest = std::max(largest, difference);
    if (!(difference <= allowed)) fail(where, array, difference, allowed);
    if (array == "logits") compare_argmax(where, got, expected);
  }

  FamilyComparison result;

 private:
  void fail(const std::string& where, const std::string& array, double difference, double allowed) {
    std::ostringstream text;
    text << where << "/" << array << ": |difference| " << difference << ", allowed " << allowed;
    result.failures.push_back(text.str());
  }

  void compare_argmax(const std::string& where, const at::Tensor& got, const at::Tensor& expected) {
    const at::Tensor best_two = std::get<0>(expected.topk(2, -1));
    const at::Tensor clear = (best_two.select(-1, 0) - best_two.select(-1, 1)) > 1e-3;
    const at::Tensor differs = got.argmax(-1) != expected.argmax(-1);
    if (at::logical_and(clear, differs).any().item<bool>()) {
      result.failures.push_back(where + ": another token has the largest logit");
    }
  }

  DType dtype_;
  Tolerance tolerance_;
};

// Whether an engine can be asked for maps without becoming another.
bool shows(Engine engine, HookId map, PadSide side) {
  if (engine == Engine::cpu_tiled) return map.site == Site::pattern && side == PadSide::right;
  return engine != Engine::aten;
}

// Runs `input` and compares it with the arrays of `expected`, which has the same rows but may be
// padded on the other side.
void compare_case(const Model& model, const Oracle& oracle, const OracleCase& input,
                  const OracleCase& expected, Engine engine, Comparer& comparer) {
  const PadSide side = input.name == "padleft" ? PadSide::left : PadSide::right;
  const Batch batch = make_batch(input.rows, side);
  std::vector<std::string> arrays;
  std::vector<HookId> hooks;
  for (const std::string& array : oracle.outputs(expected.name)) {
    const std::optional<HookId> hook = parse_hook(array);
    if (!is_logits(array) && !hook) {
      comparer.result.failures.push_back("no hook for " + array);
      continue;
    }
    if (hook && is_map(hook->site) && !shows(engine, *hook, side)) continue;
    if (!is_logits(array)) hooks.push_back(*hook);
    arrays.push_back(array);
  }
  const Outcome outcome = run_and_record(model, batch, hooks, {}, {.engine = engine});
  for (const LayerEngine& layer : outcome.result.engines) {
    comparer.result.engines.insert(engine_name(layer.engine));
  }
  for (const std::string& array : arrays) {
    const at::Tensor reference = oracle.array(expected.name + "/" + array);
    const std::string kind = kind_of(input, array);
    ++comparer.result.n_arrays;
    if (array == kAblated) {
      comparer.compare(input.name, array, ablated_logits(model, input.rows.front(), engine),
                       reference, kind);
      continue;
    }
    const HookId hook = is_logits(array) ? HookId{Site::logits} : *parse_hook(array);
    const at::Tensor& got = is_logits(array) ? outcome.output : outcome.values.at(hook);
    for (int b = 0; b < batch.size(); ++b) {
      comparer.compare(input.name + " row " + std::to_string(b), array, row_of(hook, got, batch, b),
                       oracle_row(expected, array, reference, b), kind);
    }
  }
}

}  // namespace

FamilyModel load_model(const std::string& path, DType dtype, c10::Device device) {
  Warnings warnings;
  Checkpoint checkpoint = open_checkpoint(path, {}, warnings);
  Model model = Model::load(checkpoint, {.dtype = dtype, .device = device}, warnings);
  return {std::move(checkpoint), std::move(model)};
}

Tolerance tolerance_of(DType dtype) {
  if (dtype == DType::f64) return {.hidden = 1e-10, .logits = 1e-10};
  return {};
}

bool original_counts_pads(const std::string& family) {
  return family == "bert" || family == "albert" || family == "distilbert";
}

FamilyComparison compare_with_oracle(const std::string& family, DType dtype, Engine engine,
                                     c10::Device device) {
  const FamilyModel loaded = load_family(family, dtype, device);
  const Oracle oracle(family_folder(family) + "/oracle.npz");
  Comparer comparer(dtype);
  for (const std::string& name : kOracleCases) {
    const OracleCase input = oracle.input(name);
    const bool other_side = name == "padleft" && original_counts_pads(family);
    compare_case(loaded.model, oracle, input, other_side ? oracle.input("padright") : input, engine,
                 comparer);
  }
  return comparer.result;
}

FamilyComparison compare_counting_pads(const std::string& family, DType dtype) {
  const FamilyModel loaded = load_family(family, dtype);
  const Oracle oracle(family_folder(family) + "/oracle.npz");
  Comparer comparer(dtype);
  const OracleCase expected = oracle.input("padleft");
  OracleCase input = expected;
  for (std::size_t b = 0; b < input.rows.size(); ++b) {
    std::vector<std::int64_t>& positions = input.rows[b].position_ids;
    positions.resize(input.rows[b].ids.size());
    std::iota(positions.begin(), positions.end(), input.spans[b].start);
  }
  compare_case(loaded.model, oracle, input, expected, Engine::reference, comparer);
  return comparer.result;
}

int committed_arrays(const std::string& family) {
  std::ifstream file(ATTNSCOPE_SOURCE_DIR "/tests/parity/arrays.tsv");
  std::string name;
  int count = 0;
  while (file >> name >> count) {
    if (name == family) return count;
  }
  ADD_FAILURE() << "arrays.tsv does not name " << family;
  return 0;
}

std::string lines(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += text + "\n";
  return joined;
}

}  // namespace attnscope::testing
