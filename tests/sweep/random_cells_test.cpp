// Cells drawn at random, of one to three edits of every kind at every site: fast against naive on
// every family, for prompts of many lengths that read at many places.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/probes/sweep.h"
#include "attnscope/support/philox.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

constexpr int kShortest = 6;
constexpr int kCells = 60;

class Draw {
 public:
  Draw(const Model& model, std::uint64_t seed) : model_(model), random_(seed, 0) {}

  int below(int n) { return static_cast<int>(random_.below(static_cast<std::uint32_t>(n))); }

  Cell cell() {
    Cell cell;
    const int n_edits = 1 + below(3);
    for (int i = 0; i < n_edits; ++i) cell.edits.push_back(edit());
    // Edits of one position and layer, as waves take them.
    if (below(3) == 0) {
      const int position = below(kShortest);
      for (Edit& edit : cell.edits) {
        edit.q_set = -1;
        edit.q_positions = {position};
        edit.hook.layer = cell.edits[0].hook.layer;
        if (edit.source == ValueSource::by_position) edit.source = ValueSource::donor;
      }
    }
    for (const Edit& edit : cell.edits) {
      cell.name += hook_name(edit.hook) + " operation " +
                   std::to_string(static_cast<int>(edit.operation)) + " source " +
                   std::to_string(static_cast<int>(edit.source)) + "; ";
    }
    return cell;
  }

 private:
  Edit edit() {
    static const std::vector<Site> kSites = {Site::resid_pre,
                                             Site::ln1_normalized,
                                             Site::q,
                                             Site::k,
                                             Site::v,
                                             Site::attn_scores,
                                             Site::pattern,
                                             Site::z,
                                             Site::attn_out,
                                             Site::resid_mid,
                                             Site::mlp_pre,
                                             Site::mlp_post,
                                             Site::mlp_out,
                                             Site::resid_post,
                                             Site::rot_q,
                                             Site::normalized_resid_mid,
                                             Site::normalized_resid_post};
    Edit edit;
    do {
      edit.hook = {kSites[static_cast<std::size_t>(below(static_cast<int>(kSites.size())))],
                   below(model_.config().n_layers)};
    } while (!model_.sites().contains(edit.hook));
    const bool map = edit.hook.site == Site::attn_scores || edit.hook.site == Site::pattern;
    if (edit.hook.site == Site::attn_scores) {
      edit.operation = Operation::minus_infinity;
    } else {
      choose_operation(edit);
    }
    choose_places(edit, map);
    return edit;
  }

  void choose_operation(Edit& edit) {
    switch (below(4)) {
      case 0:
        edit.operation = Operation::zero;
        break;
      case 1:
        edit.operation = Operation::scale;
        edit.factor = 1.5 - below(4);
        break;
      case 2:
        edit.operation = Operation::set;
        edit.source = ValueSource::donor;
        edit.donor = below(2);
        break;
      default:
        edit.operation = below(2) == 0 ? Operation::add : Operation::set;
        edit.source = ValueSource::constant;
        edit.value = at::full({1}, 0.3 * below(5), at::TensorOptions(at::kDouble));
    }
  }

  void choose_places(Edit& edit, bool map) {
    const std::string dims = site_info(edit.hook.site).dims;
    if (dims.find_first_of("hgf") != std::string::npos && below(3) > 0) {
      const LayerConfig& layer = model_.config().layers[static_cast<std::size_t>(edit.hook.layer)];
      const int heads = dims.find('f') != std::string::npos   ? layer.d_mlp
                        : dims.find('g') != std::string::npos ? layer.attention.n_kv_heads
                                                              : layer.attention.n_heads;
      edit.heads = {below(heads)};
      if (heads > 1 && below(2) == 0) edit.heads.push_back((edit.heads[0] + 1) % heads);
    }
    switch (below(4)) {
      case 0:
        edit.q_positions = {below(kShortest)};
        break;
      case 1:
        edit.q_positions = {-1, below(kShortest - 1)};
        break;
      case 2:
        edit.q_set = below(2);
        break;
      default:
        break;
    }
    // A cut of every key would leave nothing.
    if (edit.hook.site == Site::attn_scores) edit.k_positions = {below(3)};
    if (edit.hook.site == Site::pattern && below(2) == 0) edit.k_set = 1;
    if (map && edit.hook.site == Site::attn_scores && edit.q_positions.size() == 1) {
      edit.q_positions = {kShortest - 1};
    }
  }

  const Model& model_;
  Philox random_;
};

std::vector<SweepPrompt> prompts() {
  std::vector<SweepPrompt> list;
  const std::vector<std::vector<int>> reads = {{}, {3}, {-1, 2}, {}, {5, 0}, {-2}};
  for (int p = 0; p < 6; ++p) {
    const int length = p % 2 == 0 ? 9 : kShortest + p;
    list.push_back(
        {.row = sample_row(length, p + 1),
         .donors = {sample_row(length, p + 31), sample_row(length, p + 61)},
         .target = {.at = reads[static_cast<std::size_t>(p)], .answers = {5, 11}, .wrongs = {7}},
         .position_sets = {{1, length - 1}, {2}}});
  }
  return list;
}

class RandomCells : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, RandomCells, ::testing::ValuesIn(fixture_families()));

TEST_P(RandomCells, FastIsNaive) {
  const Model model = fixture_model(GetParam());
  Draw draw(model, 5);
  std::vector<Cell> cells;
  while (static_cast<int>(cells.size()) < kCells) cells.push_back(draw.cell());
  const std::vector<SweepPrompt> list = prompts();
  for (const MetricChoice metric : {MetricChoice::logit_diff, MetricChoice::kl}) {
    SweepSettings settings = {.metric = metric, .verify = 0, .batch_tokens = 70};
    const SweepResult fast = run_sweep(model, cells, list, settings);
    EXPECT_EQ(fast.engine.find("one cell a run"), std::string::npos) << "nothing is compared";
    settings.mode = SweepMode::naive;
    const SweepResult naive = run_sweep(model, cells, list, settings);
    int moved = 0;
    for (std::size_t i = 0; i < fast.effects.size(); ++i) {
      ASSERT_EQ(std::isnan(fast.effects[i]), std::isnan(naive.effects[i])) << i;
      if (std::isnan(naive.effects[i])) continue;
      EXPECT_NEAR(fast.effects[i], naive.effects[i],
                  1e-12 * std::max(1.0, std::abs(naive.effects[i])))
          << cells[i / list.size()].name << " prompt " << i % list.size();
      moved += std::abs(naive.effects[i]) > 1e-6 ? 1 : 0;
    }
    EXPECT_GT(moved, 100);
  }
}

TEST_P(RandomCells, ExactIsNaiveBitByBit) {
  const Model model = fixture_model(GetParam(), DType::f32);
  Draw draw(model, 6);
  std::vector<Cell> cells;
  while (static_cast<int>(cells.size()) < kCells) cells.push_back(draw.cell());
  const std::vector<SweepPrompt> list = prompts();
  SweepSettings settings = {.mode = SweepMode::exact, .workers = 2, .verify = 0};
  const SweepResult exact = run_sweep(model, cells, list, settings);
  settings.mode = SweepMode::naive;
  const SweepResult naive = run_sweep(model, cells, list, settings);
  for (std::size_t i = 0; i < exact.effects.size(); ++i) {
    const bool missing = std::isnan(exact.effects[i]) && std::isnan(naive.effects[i]);
    EXPECT_TRUE(missing || exact.effects[i] == naive.effects[i]) << cells[i / list.size()].name;
  }
}

}  // namespace
}  // namespace attnscope::testing
