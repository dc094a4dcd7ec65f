#include "attnscope/storage/sweep_output.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "attnscope/storage/reader.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/error.h"
#include "storage/faults.h"
#include "storage/sample.h"
#include "storage/sample_experiment.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using testing::Fault;
using testing::file_bytes;
using testing::TempFolder;

constexpr int kShards = 3;

struct Job {
  std::string path;
  IfExists if_exists = IfExists::refuse;
  std::string config = R"({"methods":"zero","seed":1})";
  std::string run_id = "run";
};

SweepOutputOptions options_of(const Job& job) {
  FileInfo info = testing::sample_file_info({.run_id = job.run_id});
  info.kind = FileKind::ablate;
  RunInfo run = testing::sample_run();
  run.options_json = job.config;
  return {.path = job.path,
          .if_exists = job.if_exists,
          .file = info,
          .model = testing::sample_model({}),
          .run = run,
          .shards = {{0, 2}, {2, 2}, {4, 1}}};
}

// Work items 0 … 4, two rows each.
SweepRows rows_of(const ShardRange& range) {
  SweepRows rows;
  for (std::int64_t item = range.first; item < range.first + range.count; ++item) {
    for (std::int64_t prompt = 0; prompt < 2; ++prompt) {
      rows.integers["cell"].push_back(item);
      rows.integers["prompt"].push_back(prompt);
      rows.numbers["value"].push_back(static_cast<double>(item) / 3 + static_cast<double>(prompt));
    }
  }
  return rows;
}

ExperimentRecord statistics_of(const SweepRows& rows) {
  const auto& values = rows.numbers.at("value");
  ExperimentRecord record{.name = "ablate", .kind = "ablate", .metric = "logit-diff"};
  record.arrays = {{"sum", {}, {}, {std::accumulate(values.begin(), values.end(), 0.0)}}};
  return record;
}

// Returns how many shards it computed.
int run(const Job& job, Warnings* said = nullptr) {
  Warnings warnings;
  SweepOutput output(options_of(job), said != nullptr ? *said : warnings);
  if (output.complete()) return 0;
  int computed = 0;
  for (int shard = 0; shard < output.shards(); ++shard) {
    if (output.is_committed(shard)) continue;
    ++computed;
    output.commit(shard, rows_of(options_of(job).shards[static_cast<std::size_t>(shard)]));
  }
  output.finish({testing::sample_prompt(0, 4)}, {statistics_of(output.read_all())});
  return computed;
}

int status_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 0;
    try {
      work();
    } catch (const Error& error) {
      code = error.exit_code();
    }
    ::_exit(testing::fault_was_met() ? code + 10 : code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int exit_code_of(const std::function<void()>& work, std::string* message = nullptr) {
  try {
    work();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.exit_code();
  }
  return 0;
}

// Kills a run after it committed `shards` shards.
void interrupt_after(const Job& job, int shards) {
  const pid_t child = ::fork();
  if (child == 0) {
    Warnings warnings;
    SweepOutput output(options_of(job), warnings);
    for (int shard = 0; shard < shards; ++shard) {
      output.commit(shard, rows_of(options_of(job).shards[static_cast<std::size_t>(shard)]));
    }
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(SweepOutput, RowsComeBackInTheOrderOfTheShards) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  Warnings warnings;
  SweepOutput output(options_of({.path = path}), warnings);
  for (const int shard : {2, 0, 1}) {
    output.commit(shard, rows_of(options_of({}).shards[static_cast<std::size_t>(shard)]));
  }
  EXPECT_EQ(output.read(1), rows_of({2, 2}));
  const SweepRows all = output.read_all();
  EXPECT_EQ(all, rows_of({0, 5}));
  EXPECT_EQ(all.count(), 10);
  EXPECT_FALSE(fs::exists(path));
  output.finish({testing::sample_prompt(0, 4)}, {statistics_of(all)});
  EXPECT_EQ(files_in(folder.path()), (std::vector<std::string>{"a.h5", "a.h5.lock"}));
  const CaptureReader reader(path);
  EXPECT_EQ(reader.file().kind, FileKind::ablate);
  EXPECT_EQ(reader.prompt(0).tokens.ids, testing::sample_prompt(0, 4).tokens.ids);
  const auto records = reader.experiments();
  ASSERT_EQ(records.size(), 1U);
  // Σ item/3 + prompt over items 0 … 4 and prompts 0, 1.
  EXPECT_NEAR(records[0].array("sum")->values[0], 2 * 10.0 / 3 + 5, 1e-12);
  EXPECT_TRUE(verify_file(path).findings.empty());
}

TEST(SweepOutput, ResumeComputesOnlyWhatIsMissing) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  run({.path = folder.file("whole.h5")});
  interrupt_after({.path = path}, 2);
  EXPECT_EQ(exit_code_of([&] { run({.path = path}); }), 3);
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume}), 1);
  EXPECT_EQ(file_bytes(path), file_bytes(folder.file("whole.h5")));
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume}), 0);
  EXPECT_EQ(exit_code_of([&] { run({.path = path}); }), 3);
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::force}), kShards);
  EXPECT_EQ(file_bytes(path), file_bytes(folder.file("whole.h5")));
}

TEST(SweepOutput, ResumeWithOtherOptionsNamesTheKey) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  const Job other{.path = path,
                  .if_exists = IfExists::resume,
                  .config = R"({"methods":"zero","seed":2})",
                  .run_id = "other"};
  interrupt_after({.path = path}, 1);
  for (int i = 0; i < 2; ++i) {
    std::string message;
    EXPECT_EQ(exit_code_of([&] { run(other); }, &message), 2);
    EXPECT_NE(message.find("seed"), std::string::npos) << message;
    run({.path = path, .if_exists = IfExists::resume});  // the second time the file is there
  }
}

TEST(SweepOutput, DamagedShardsAreComputedAgain) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  run({.path = folder.file("whole.h5")});
  const SweepRows rows = rows_of({0, 2});
  const double value = rows.numbers.at("value")[1];
  const std::string needle(reinterpret_cast<const char*>(&value), sizeof value);
  interrupt_after({.path = path}, 2);
  const std::string shard = path + ".parts/shard-000000.h5";
  std::string bytes = file_bytes(shard);
  const std::size_t at = bytes.find(needle);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  std::ofstream(shard, std::ios::binary) << bytes;
  Warnings warnings;
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume}, &warnings), 2);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("SHA-256"), std::string::npos) << warnings.lines()[0];
  EXPECT_EQ(file_bytes(path), file_bytes(folder.file("whole.h5")));
}

// A run of sweeps whose shards become known one sweep after the other.
struct Stages {
  std::string path;
  IfExists if_exists = IfExists::refuse;
  std::vector<int> shards = {2, 1, 3};  // of each stage
  std::string second = "cells of the second";
};

// Stops before shard `stop_at` of all. Returns how many it computed.
int run_stages(const Stages& job, int stop_at = 100, Warnings* said = nullptr) {
  Warnings warnings;
  SweepOutputOptions options =
      options_of({.path = job.path, .if_exists = job.if_exists, .config = "{}"});
  options.shard_use = ShardUse::growing;
  options.shards = {};
  SweepOutput output(options, said != nullptr ? *said : warnings);
  if (output.complete()) return 0;
  int computed = 0;
  for (std::size_t stage = 0; stage < job.shards.size(); ++stage) {
    const int first = output.begin_stage(
        {"stage " + std::to_string(stage), stage == 1 ? job.second : "cells"}, job.shards[stage]);
    for (int shard = first; shard < first + job.shards[stage]; ++shard) {
      if (shard >= stop_at) {
        EXPECT_EQ(kept_shards(options.path), stop_at);
        return computed;
      }
      if (output.is_committed(shard)) continue;
      ++computed;
      output.commit(shard, rows_of({shard, 1}));
    }
  }
  output.finish({testing::sample_prompt(0, 4)}, {statistics_of(output.read_all())});
  return computed;
}

TEST(SweepOutput, StagesAreResumedWhereverTheyStop) {
  const TempFolder folder;
  const std::string whole = folder.file("whole.h5");
  EXPECT_EQ(run_stages({.path = whole}), 6);
  for (int stop = 0; stop <= 6; ++stop) {
    const std::string path = folder.file("a" + std::to_string(stop) + ".h5");
    EXPECT_EQ(run_stages({.path = path}, stop), stop);
    EXPECT_EQ(run_stages({.path = path, .if_exists = IfExists::resume}), 6 - stop);
    EXPECT_EQ(file_bytes(path), file_bytes(whole));
    EXPECT_FALSE(fs::exists(path + ".parts"));
    EXPECT_EQ(run_stages({.path = path, .if_exists = IfExists::resume}), 0);
  }
}

// What was written for other cells, or for another number of shards, is not taken for this work.
TEST(SweepOutput, ShardsOfOtherWorkAreComputedAgain) {
  const TempFolder folder;
  for (const bool other_cells : {true, false}) {
    const std::string path = folder.file(other_cells ? "cells.h5" : "count.h5");
    const Stages wanted = {.path = path, .if_exists = IfExists::resume};
    Stages before = {.path = path};
    if (other_cells) {
      before.second = "cells of another run";
    } else {
      before.shards = {2, 2, 2};
    }
    EXPECT_EQ(run_stages(before, 5), 5);
    Warnings warnings;
    // Shards 0 and 1 are as they were; behind them, those whose place or cells differ go.
    EXPECT_EQ(run_stages(wanted, 100, &warnings), other_cells ? 2 : 4);
    EXPECT_EQ(warnings.lines().size(), other_cells ? 1U : 3U);
    for (const std::string& line : warnings.lines()) {
      EXPECT_NE(line.find("computed again"), std::string::npos) << line;
    }
    run_stages({.path = folder.file("whole.h5"), .if_exists = IfExists::force});
    EXPECT_EQ(file_bytes(path), file_bytes(folder.file("whole.h5")));
  }
}

TEST(SweepOutput, ColumnsOfUnequalLengthAreOurBug) {
  SweepRows rows = rows_of({0, 1});
  rows.numbers["placebo"] = {1};
  EXPECT_EQ(exit_code_of([&] { rows.count(); }), 1);
  SweepRows all = rows_of({0, 1});
  SweepRows more = rows_of({1, 1});
  more.numbers["placebo"] = {0, 0};
  EXPECT_EQ(exit_code_of([&] { all.append(more); }), 1);
}

// Every call of a run fails once in each way; a resumed run must end with the same bytes.
class SweepFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(SweepFaults, ResumesToTheSameBytes) {
  const Fault fault = GetParam();
  const TempFolder folder;
  run({.path = folder.file("whole.h5")});
  const std::string expected = file_bytes(folder.file("whole.h5"));
  const std::string path = folder.file("run.h5");
  int points = 0;
  for (int at = 1;; ++at) {
    const int status = status_of([&] {
      testing::arm(fault, at);
      run({.path = path});
    });
    if (status == 0) break;  // the run has fewer calls
    ++points;
    // 10: the call failed without harm, such as removing a temporary name.
    ASSERT_TRUE(testing::kills(fault)         ? status == 128 + SIGKILL
                : testing::is_harmless(fault) ? status == 10
                                              : status == 13 || status == 10)
        << "call " << at << ": " << status;
    if (!fs::exists(path) || fs::exists(path + ".parts")) {
      run({.path = path, .if_exists = IfExists::resume});
    }
    ASSERT_TRUE(file_bytes(path) == expected) << "call " << at << ", status " << status;
    EXPECT_EQ(files_in(folder.path()), (std::vector<std::string>{"run.h5", "whole.h5"}));
    fs::remove(path);
  }
  EXPECT_GT(points, 40);
}

INSTANTIATE_TEST_SUITE_P(All, SweepFaults, ::testing::ValuesIn(testing::kAllFaults),
                         [](const auto& test) { return testing::fault_name(test.param); });

}  // namespace
}  // namespace attnscope
