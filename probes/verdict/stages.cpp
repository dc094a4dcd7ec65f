#include "stages.h"

#include <optional>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

// Puts the name of the stage before what its sweep says of itself.
class StageProgress final : public ProgressListener {
 public:
  StageProgress(std::string stage, ProgressListener* listener)
      : stage_(std::move(stage)), listener_(listener) {}

  void update(const ProgressState& state) override {
    last_ = state;
    last_.stage = stage_;
    if (listener_ != nullptr) listener_->update(last_);
  }
  const ProgressState& last() const { return last_; }

 private:
  std::string stage_;
  ProgressListener* listener_;
  ProgressState last_;
};

// What tells the rows of a stage apart: its cells in their order, and on how many prompts.
std::string contents_of(const std::vector<Cell>& cells, std::size_t prompts) {
  std::string text = std::to_string(prompts);
  for (const Cell& cell : cells) text += "\n" + cell.name;
  return text;
}

// The sweep knows its own shards; what is kept of the whole run decides how to go on.
[[noreturn]] void fail_stopped(const Error& error, const std::string& stage,
                               const ProgressState& last, const SweepOutput* output) {
  const int kept = output == nullptr ? 0 : output->committed();
  std::string what = "stopped by a signal in stage " + stage;
  if (last.items_total > 0) {
    what += ", after " + std::to_string(last.items_done) + " of its " +
            count_of(static_cast<std::uint64_t>(last.items_total), "run");
  }
  std::string next = "run it again with -o FILE, so that --resume can go on next time";
  if (output != nullptr) {
    what += kept == 0 ? "; nothing was committed yet"
                      : "; finished so far and kept: " +
                            count_of(static_cast<std::uint64_t>(kept), "shard");
    next = kept == 0 ? "run it again" : "the same command with --resume goes on from there";
  }
  throw Error(error.kind(), error.code(), {.where = "verdict", .what = what, .next = next});
}

}  // namespace

SweepResult Stages::run(const Stage& stage, const Model& model, const std::vector<Cell>& cells,
                        const std::vector<SweepPrompt>& prompts) {
  ++number_;
  if (cells.empty() || prompts.empty()) return {};
  const std::string title =
      std::to_string(number_) + " of " + std::to_string(total_) + ": " + stage.name;
  StageProgress progress(title, settings_.progress);
  std::optional<OutputStore> store;
  SweepSettings settings = settings_;
  settings.progress = &progress;
  if (output_ != nullptr) {
    settings.store =
        &store.emplace(*output_, SweepStage{title, contents_of(cells, prompts.size())});
  }
  settings.verify = stage.verify;
  try {
    SweepResult result = run_sweep(model, cells, prompts, settings);
    runs_ += static_cast<double>(result.plan.runs);
    seconds_ += result.seconds;
    return result;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    fail_stopped(error, title, progress.last(), output_);
  }
}

}  // namespace attnscope
