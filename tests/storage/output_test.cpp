#include "attnscope/storage/output.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "attnscope/storage/reader.h"
#include "attnscope/storage/verify.h"
#include "attnscope/storage/writer.h"
#include "attnscope/support/error.h"
#include "storage/faults.h"
#include "storage/sample.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using testing::Fault;
using testing::TempFolder;

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

constexpr int kShards = 3;

struct Job {
  std::string path;
  IfExists if_exists = IfExists::refuse;
  int shards = kShards;
  std::string config = R"({"hooks":"pattern","nested":{"seed":1}})";
  std::string run_id = "run";
};

// A run of small shards, one prompt each; returns how many of them it computed.
int run(const Job& job) {
  OutputOptions options{.path = job.path,
                        .if_exists = job.if_exists,
                        .run_id = job.run_id,
                        .config_json = job.config,
                        .shards = {}};
  for (int i = 0; i < job.shards; ++i) options.shards.push_back({i, 1});
  Warnings warnings;
  Output output(options, warnings);
  int computed = 0;
  for (int shard = 0; shard < job.shards; ++shard) {
    if (output.is_committed(shard)) continue;
    ++computed;
    FileInfo info = testing::sample_file_info({.run_id = job.run_id});
    if (job.shards > 1) info.shard = ShardId{shard, job.shards};
    RunInfo run_info = testing::sample_run();
    run_info.options_json = job.config;
    CaptureWriter writer(output.begin(shard), info, testing::sample_model({}), run_info, {});
    writer.add_prompt(testing::sample_prompt(shard, 6));
    std::vector<float> values(6 * 700, static_cast<float>(shard));
    writer.write_site(0, {Site::resid_post, 0},
                      contiguous_view(values.data(), DType::f32, {6, 700}));
    writer.finish();
    output.commit(shard);
  }
  output.finish();
  return computed;
}

// The exit status of `work` in a child: its Error's exit code, 0, or 128 + the signal.
int status_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (const Error& error) {
      ::_exit(error.exit_code());
    }
    ::_exit(0);
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

TEST(Output, CommitSyncsTheFileNamesItAndSyncsTheFolder) {
  const TempFolder folder;
  testing::arm(Fault::none, 0);
  run({.path = folder.file("run.h5"), .shards = 1});
  testing::disarm();
  const std::string name = folder.path().substr(folder.path().rfind('/') + 1);
  EXPECT_EQ(testing::logged_calls(),
            (std::vector<std::string>{"fsync run.h5.tmp", "link run.h5", "fsync " + name}));
  EXPECT_EQ(files_in(folder.path()), (std::vector<std::string>{"run.h5"}));
}

TEST(Output, ShardsAreMergedIntoOneFile) {
  const TempFolder folder;
  EXPECT_EQ(run({.path = folder.file("run.h5")}), kShards);
  EXPECT_EQ(files_in(folder.path()), (std::vector<std::string>{"run.h5"}));
  const CaptureReader reader(folder.file("run.h5"));
  EXPECT_EQ(reader.prompts(), kShards);
  EXPECT_FALSE(reader.file().shard.has_value());
  for (int p = 0; p < kShards; ++p) {
    EXPECT_EQ(reader.prompt(p).tokens.ids, testing::sample_prompt(p, 6).tokens.ids);
    EXPECT_EQ(reader.read(p, {Site::resid_post, 0}).as_float().at(4199), static_cast<float>(p));
  }
  EXPECT_TRUE(verify_file(folder.file("run.h5")).findings.empty());
}

TEST(Output, ExistingFilesAreKept) {
  const TempFolder folder;
  const std::string path = folder.file("run.h5");
  std::ofstream(path) << "mine";
  std::string message;
  EXPECT_EQ(exit_code_of([&] { run({.path = path}); }, &message), 3);
  EXPECT_NE(message.find("--force"), std::string::npos);
  EXPECT_EQ(content(path), "mine");
  // A resumed run does not take a foreign file for its own.
  EXPECT_EQ(exit_code_of([&] { run({.path = path, .if_exists = IfExists::resume}); }), 2);
  EXPECT_EQ(content(path), "mine");
  std::ofstream(folder.file("run.json")) << "{}";
  EXPECT_EQ(exit_code_of([&] { run({.path = path, .if_exists = IfExists::force}); }), 0);
  EXPECT_EQ(CaptureReader(path).prompts(), kShards);
  EXPECT_EQ(files_in(folder.path()), (std::vector<std::string>{"run.h5"}));
}

TEST(Output, ForceKeepsTheOldFileUntilTheNewOneIsComplete) {
  const TempFolder folder;
  const std::string path = folder.file("run.h5");
  run({.path = path});
  const std::string before = content(path);
  const int status = status_of([&] {
    testing::arm(Fault::kill, 25);
    run({.path = path, .if_exists = IfExists::force});
  });
  EXPECT_EQ(status, 128 + SIGKILL);
  EXPECT_TRUE(content(path) == before);
}

TEST(Output, BadFoldersAreNamed) {
  const TempFolder folder;
  std::string message;
  EXPECT_EQ(exit_code_of([&] { run({.path = folder.file("no/run.h5")}); }, &message), 3);
  EXPECT_NE(message.find(folder.file("no")), std::string::npos);
  std::ofstream(folder.file("file")) << "x";
  EXPECT_EQ(exit_code_of([&] { run({.path = folder.file("file/run.h5")}); }), 3);
  EXPECT_EQ(exit_code_of([&] { run({.path = folder.file(std::string(300, 'n'))}); }), 3);
  fs::create_directory(folder.file("dir.h5"));
  EXPECT_EQ(
      exit_code_of([&] { run({.path = folder.file("dir.h5"), .if_exists = IfExists::force}); }), 3);
  fs::create_directory(folder.file("locked"));
  ::chmod(folder.file("locked").c_str(), 0555);
  // Root may write anywhere.
  if (::geteuid() == 0) {
    std::cout << "read-only folder not checked: running as root\n";
  } else {
    EXPECT_EQ(exit_code_of([&] { run({.path = folder.file("locked/run.h5")}); }), 3);
  }
}

TEST(Output, ASecondProcessIsToldWhoWrites) {
  const TempFolder folder;
  const std::string path = folder.file("run.h5");
  Warnings warnings;
  {
    const Output first({.path = path, .run_id = "run"}, warnings);
    std::ofstream(folder.file("run.h5.tmp")) << "the first one's file";
    const int status = status_of([&] {
      std::string message;
      const int code =
          exit_code_of([&] { run({.path = path, .if_exists = IfExists::force}); }, &message);
      const std::string holder = "process " + std::to_string(::getppid());
      ::_exit(code == 3 && message.find(holder) != std::string::npos ? 42 : 0);
    });
    EXPECT_EQ(status, 42);
    EXPECT_EQ(content(folder.file("run.h5.tmp")), "the first one's file");
  }
  // The lock is gone, and the leftover of the first one is cleared away.
  EXPECT_EQ(run({.path = path}), kShards);
  EXPECT_EQ(files_in(folder.path()), (std::vector<std::string>{"run.h5"}));
}

TEST(Output, ResumeKeepsCommittedShards) {
  const TempFolder folder;
  const std::string path = folder.file("run.h5");
  run({.path = folder.file("whole.h5")});
  // Killed at the first write of the third shard: the second "link" has passed.
  int at = 1;
  while (status_of([&] {
           testing::arm(Fault::kill, at);
           run({.path = path});
         }) == 128 + SIGKILL &&
         !fs::exists(path + ".parts/shard-000001.h5")) {
    fs::remove_all(path + ".parts");
    ++at;
  }
  ASSERT_TRUE(fs::exists(path + ".parts/shard-000001.h5"));
  struct stat before {};
  ASSERT_EQ(::stat((path + ".parts/shard-000000.h5").c_str(), &before), 0);
  EXPECT_EQ(exit_code_of([&] { run({.path = path}); }), 3);  // without --resume
  {
    // A resume that is stopped before it merges leaves the shard as it was.
    Warnings warnings;
    OutputOptions options{.path = path,
                          .if_exists = IfExists::resume,
                          .run_id = "run",
                          .config_json = Job{}.config,
                          .shards = {{0, 1}, {1, 1}, {2, 1}}};
    const Output output(options, warnings);
    EXPECT_TRUE(output.is_committed(0));
    EXPECT_TRUE(warnings.lines().empty());
  }
  struct stat after {};
  ASSERT_EQ(::stat((path + ".parts/shard-000000.h5").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume}), 1);
  EXPECT_TRUE(content(path) == content(folder.file("whole.h5")));
  // Nothing is left to do, and the file is not touched again.
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume}), 0);
}

// An interrupted run with --force goes on beside the file that it will replace.
TEST(Output, AForcedRunIsResumedToo) {
  const TempFolder folder;
  const std::string path = folder.file("run.h5");
  const std::string config = R"({"hooks":"z","nested":{"seed":1}})";
  run({.path = folder.file("whole.h5"), .config = config, .run_id = "new"});
  for (const bool ours : {true, false}) {
    if (ours) {
      run({.path = path});
    } else {
      std::ofstream(path) << "not a capture";
    }
    const std::string old = content(path);
    for (int at = 1; !fs::exists(path + ".parts/shard-000001.h5"); ++at) {
      const int status = status_of([&] {
        testing::arm(Fault::kill, at);
        run({.path = path, .if_exists = IfExists::force, .config = config, .run_id = "new"});
      });
      ASSERT_EQ(status, 128 + SIGKILL);
    }
    ASSERT_TRUE(content(path) == old);
    // Another run cannot take these parts, nor the old file.
    EXPECT_EQ(
        exit_code_of([&] { run({.path = path, .if_exists = IfExists::resume, .run_id = "x"}); }),
        2);
    EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume, .config = config, .run_id = "new"}),
              1);
    EXPECT_TRUE(content(path) == content(folder.file("whole.h5")));
    EXPECT_FALSE(fs::exists(path + ".parts"));
    fs::remove(path);
  }
}

// A file that came under the name after the run began is not replaced.
TEST(Output, AResumedRunReplacesNoForeignFile) {
  const TempFolder folder;
  const std::string path = folder.file("run.h5");
  for (int at = 1; !fs::exists(path + ".parts/shard-000001.h5"); ++at) {
    fs::remove_all(path + ".parts");
    ASSERT_EQ(status_of([&] {
                testing::arm(Fault::kill, at);
                run({.path = path});
              }),
              128 + SIGKILL);
  }
  std::ofstream(path) << "mine";
  EXPECT_EQ(exit_code_of([&] { run({.path = path, .if_exists = IfExists::resume}); }), 3);
  EXPECT_EQ(content(path), "mine");
  fs::remove(path);
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume}), 1);
}

TEST(Output, ResumeWithOtherOptionsNamesTheKey) {
  const TempFolder folder;
  const std::string path = folder.file("run.h5");
  const auto kill_early = [&] {
    testing::arm(Fault::kill, 30);
    run({.path = path});
  };
  ASSERT_EQ(status_of(kill_early), 128 + SIGKILL);
  std::string message;
  const Job other{.path = path,
                  .if_exists = IfExists::resume,
                  .config = R"({"hooks":"pattern","nested":{"seed":2}})",
                  .run_id = "other"};
  EXPECT_EQ(exit_code_of([&] { run(other); }, &message), 2);
  EXPECT_NE(message.find("nested.seed"), std::string::npos) << message;
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume}) <= kShards, true);
  message.clear();
  EXPECT_EQ(exit_code_of([&] { run(other); }, &message), 2);
  EXPECT_NE(message.find("nested.seed"), std::string::npos) << message;
}

TEST(Output, DamagedShardsAreComputedAgain) {
  const TempFolder folder;
  const std::string path = folder.file("run.h5");
  run({.path = folder.file("whole.h5")});
  int at = 1;
  do {
    fs::remove_all(path + ".parts");
    ++at;
  } while (status_of([&] {
             testing::arm(Fault::kill, at);
             run({.path = path});
           }) == 128 + SIGKILL &&
           !fs::exists(path + ".parts/shard-000001.h5"));
  // One bit of an activation of the first shard.
  const std::string shard = path + ".parts/shard-000000.h5";
  std::string bytes = content(shard);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(shard, std::ios::binary) << bytes;
  Warnings warnings;
  {
    OutputOptions options{.path = path,
                          .if_exists = IfExists::resume,
                          .run_id = "run",
                          .config_json = Job{}.config,
                          .shards = {{0, 1}, {1, 1}, {2, 1}}};
    const Output output(options, warnings);
    EXPECT_FALSE(output.is_committed(0));
    EXPECT_TRUE(output.is_committed(1));
  }
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("SHA-256"), std::string::npos) << warnings.lines()[0];
  EXPECT_EQ(run({.path = path, .if_exists = IfExists::resume}), 2);
  EXPECT_TRUE(content(path) == content(folder.file("whole.h5")));
}

// Every call of a run fails once in each way; a resumed run must end with the same bytes.
class FaultSweep : public ::testing::TestWithParam<Fault> {};

TEST_P(FaultSweep, ResumesToTheSameBytes) {
  const Fault fault = GetParam();
  const bool kills = testing::kills(fault);
  const TempFolder folder;
  run({.path = folder.file("whole.h5")});
  const std::string expected = content(folder.file("whole.h5"));
  const std::string path = folder.file("run.h5");
  int points = 0;
  for (int at = 1;; ++at) {
    const int status = status_of([&] {
      testing::arm(fault, at);
      int code = 0;
      try {
        run({.path = path});
      } catch (const Error& error) {
        code = error.exit_code();
      }
      ::_exit(testing::fault_was_met() ? code + 10 : code);
    });
    if (status == 0) break;  // the run has fewer calls
    ++points;
    // 10: the call failed without harm, such as removing a temporary name.
    ASSERT_TRUE(kills                         ? status == 128 + SIGKILL
                : testing::is_harmless(fault) ? status == 10
                                              : status == 13 || status == 10)
        << "call " << at << ": " << status;
    if (!kills && status == 13) {
      for (const std::string& name : files_in(folder.path())) {
        EXPECT_EQ(name.find(".tmp"), std::string::npos) << "call " << at << " left " << name;
      }
    }
    if (!fs::exists(path) || fs::exists(path + ".parts")) {
      run({.path = path, .if_exists = IfExists::resume});
    }
    // Not EXPECT_EQ: it would print both files.
    ASSERT_TRUE(content(path) == expected) << "call " << at << ", status " << status;
    EXPECT_EQ(files_in(folder.path()), (std::vector<std::string>{"run.h5", "whole.h5"}));
    fs::remove(path);
  }
  EXPECT_GT(points, 40);
  std::cout << points << " points\n";
}

INSTANTIATE_TEST_SUITE_P(All, FaultSweep, ::testing::ValuesIn(testing::kAllFaults),
                         [](const auto& test) { return testing::fault_name(test.param); });

TEST(Output, AFullDiskIsNamed) {
  const TempFolder folder;
  const int status = status_of([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 20000, .rlim_max = 20000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string message;
    const int code =
        exit_code_of([&] { run({.path = folder.file("run.h5"), .shards = 1}); }, &message);
    const bool named = message.find("run.h5") != std::string::npos &&
                       message.find("File too large") != std::string::npos;
    ::_exit(code == 3 && named ? 42 : code);
  });
  EXPECT_EQ(status, 42);
  EXPECT_TRUE(files_in(folder.path()).empty());
}

}  // namespace
}  // namespace attnscope
