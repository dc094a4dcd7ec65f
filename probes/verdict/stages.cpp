#include "stages.h"

#include <optional>

namespace attnscope {
namespace {

// What tells the rows of a stage apart: its cells in their order, and on how many prompts.
std::string contents_of(const std::vector<Cell>& cells, std::size_t prompts) {
  std::string text = std::to_string(prompts);
  for (const Cell& cell : cells) text += "\n" + cell.name;
  return text;
}

}  // namespace

SweepResult Stages::run(const Stage& stage, const Model& model, const std::vector<Cell>& cells,
                        const std::vector<SweepPrompt>& prompts) {
  ++number_;
  if (cells.empty() || prompts.empty()) return {};
  const std::string title = stage_title(number_, total_, stage.name);
  std::optional<OutputStore> store;
  SweepSettings settings = settings_;
  settings.stage = title;
  if (output_ != nullptr) {
    settings.store =
        &store.emplace(*output_, SweepStage{title, contents_of(cells, prompts.size())});
  }
  settings.verify = stage.verify;
  SweepResult result = run_sweep(model, cells, prompts, settings);
  runs_ += static_cast<double>(result.plan.runs);
  seconds_ += result.seconds;
  return result;
}

}  // namespace attnscope
