// File: sweep_output.h
// Output of an experiment that computes many values before it can say anything: raw rows are
// committed shard by shard as they come, the statistics of all of them are written at the end.
//
//   SweepOutput output({.path = "ablate.h5", .file = info, .model = model, .run = run,
//                       .shards = {{0, 500}, {500, 500}}}, warnings);
//   if (output.complete()) …                       // --resume of a finished run: read the file
//   for (int shard = 0; shard < output.shards(); ++shard) {
//     if (!output.is_committed(shard)) output.commit(shard, measure(shard));
//   }
//   SweepRows rows = output.read_all();
//   const std::string sha256 = output.finish(prompts, {statistics(rows)});
//   output.write_sidecar(json);
//
// Everything of output.h holds: lock, refuse, resume and force, temporary names, sync. A shard is a
// small file in OUT.h5.parts/; it is checked (SHA-256) when a run is resumed. Interrupted at any
// point and resumed, a run gives the same bytes. Without shards only finish() writes.
//
// A run of several sweeps, each of which depends on the results of those before, does not know its
// shards beforehand (ShardUse::growing); each sweep is a stage that adds its own:
//   const int first = output.begin_stage({.name = "pairs", .contents = names_of(cells)}, 3);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attnscope/storage/experiment.h"
#include "attnscope/storage/output.h"
#include "attnscope/storage/schema.h"
#include "attnscope/support/warnings.h"

namespace attnscope {

// Measured values, one row each; all columns have the same length.
struct SweepRows {
  std::map<std::string, std::vector<std::int64_t>> integers;  // "cell", "prompt", …
  std::map<std::string, std::vector<double>> numbers;         // "value", "placebo", …

  std::int64_t count() const;
  // Puts the rows of `other`, which has the same columns, after these. Nothing + rows = rows.
  void append(const SweepRows& other);
  bool operator==(const SweepRows&) const = default;
};

// One sweep of a run of several.
struct SweepStage {
  std::string name;
  // All that tells its rows apart, in any form. A shard that was written for other contents is
  // computed again.
  std::string contents;
};

// Writes the file of an experiment to `path`, which must not exist.
void write_experiment_file(const std::string& path, const FileInfo& file, const ModelInfo& model,
                           const RunInfo& run, const std::vector<PromptRecord>& prompts,
                           const std::vector<ExperimentRecord>& records);

struct SweepOutputOptions {
  std::string path;  // OUT.h5
  IfExists if_exists = IfExists::refuse;
  FileInfo file;            // of OUT.h5; its run_id is compared on resume
  std::string resume_json;  // compared key by key on resume; empty: run.options_json
  ModelInfo model;
  RunInfo run;
  ShardUse shard_use = ShardUse::collected;  // or growing
  std::vector<ShardRange> shards;            // of the plan: work items
};

class SweepOutput {
 public:
  // Damaged shards are removed, and said in `warnings`, which must live as long.
  SweepOutput(SweepOutputOptions options, Warnings& warnings);
  // Throws what the constructor would, and makes, changes and removes nothing.
  static void check(const SweepOutputOptions& options);

  int shards() const { return output_.shards(); }
  // ShardUse::growing: `count` more shards, which are those of a stage until the next one begins.
  // Returns the number of the first.
  int begin_stage(const SweepStage& stage, int count);
  // OUT.h5 is there with this run id: there is nothing left to do.
  bool complete() const { return output_.complete(); }
  bool is_committed(int shard) const { return output_.is_committed(shard); }
  void commit(int shard, const SweepRows& rows);
  // The rows of a committed shard; of all shards in order.
  SweepRows read(int shard) const;
  SweepRows read_all() const;
  // Writes OUT.h5 and removes the shards. Returns its SHA-256.
  std::string finish(const std::vector<PromptRecord>& prompts,
                     const std::vector<ExperimentRecord>& records);
  // Writes OUT.json, replacing an older one.
  void write_sidecar(const std::string& json) { output_.write_sidecar(json); }

 private:
  SweepOutputOptions options_;
  Warnings& warnings_;
  Output output_;
  std::string stage_;  // what the shards of this stage are marked with; empty without stages
};

}  // namespace attnscope
