// File: stages.h
// The sweeps of a verdict, one after the other: later ones are about what earlier ones found. Each
// is a stage that keeps shards of its own and says in its progress which it is.
#pragma once

#include <string>
#include <vector>

#include "attnscope/probes/sweep_run.h"

namespace attnscope {

struct Stage {
  std::string name;  // "effects given a removed head"
  int verify = 0;    // runs that are checked naively, as SweepSettings::verify
};

class Stages {
 public:
  // `total`: how many there will be. `output`: where shards are kept; null keeps none.
  Stages(std::size_t total, const SweepSettings& settings, SweepOutput* output)
      : total_(total), settings_(settings), output_(output) {}

  // Runs the next one. Without cells there is nothing to do and the result is empty. Throws the
  // errors of run_sweep(); one that was stopped says in which stage.
  SweepResult run(const Stage& stage, const Model& model, const std::vector<Cell>& cells,
                  const std::vector<SweepPrompt>& prompts);

  // Over all stages so far.
  double runs_per_second() const { return seconds_ > 0 ? runs_ / seconds_ : 0; }

 private:
  std::size_t total_;
  SweepSettings settings_;
  SweepOutput* output_;
  std::size_t number_ = 0;  // of the stage that runs, from 1
  double runs_ = 0;
  double seconds_ = 0;
};

}  // namespace attnscope
