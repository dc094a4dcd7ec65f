// Runs that are killed, run out of disk, or find what others left, in processes of their own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "attnscope/spec/spec_json.h"
#include "attnscope/support/philox.h"
#include "capture_case.h"
#include "testing/temp_folder.h"

extern char** environ;  // NOLINT: declared by POSIX, not by a header

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using testing::exists;
using testing::TempFolder;

// ATTNSCOPE_KILL_POINTS asks for another number of kills than a quick test makes.
int kill_points() {
  constexpr int kQuick = 12;
  const char* asked = std::getenv("ATTNSCOPE_KILL_POINTS");
  return asked == nullptr ? kQuick : std::max(1, std::atoi(asked));
}

struct Outcome {
  int exit_code = -1;  // −1: killed by a signal
  std::string output;
  double seconds = 0;
};

class Interruption : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<int> lengths;
    for (int i = 0; i < 40; ++i) lengths.push_back(20 + (i * 31) % 60);
    testing::write_id_prompts(folder_.file("p.jsonl"), lengths, 1000);
  }

  CaptureSpec spec(const std::string& out) const {
    CaptureSpec s = testing::spec_for(model_, folder_.file(out));
    s.prompts.prompts_file = folder_.file("p.jsonl");
    s.hooks = "pattern,z,mlp.hook_post,resid_post";
    s.beyond_context = true;
    return s;
  }

  Outcome run(const CaptureSpec& s, long kill_after = 0, const char* limits = "") const {
    const std::string file = folder_.file("spec.json");
    const std::string log = folder_.file("log.txt");
    std::ofstream(file) << spec_to_json(s);
    const std::string command = std::string(limits) + " exec '" CAPTURE_HELPER "' '" + file +
                                "' 8e7 " + std::to_string(kill_after) + " > '" + log + "' 2>&1";
    const std::array<const char*, 4> argv = {"/bin/sh", "-c", command.c_str(), nullptr};
    const auto start = std::chrono::steady_clock::now();
    pid_t pid = 0;
    EXPECT_EQ(
        posix_spawn(&pid, argv[0], nullptr, nullptr, const_cast<char**>(argv.data()), environ), 0);
    int status = 0;
    ::waitpid(pid, &status, 0);
    Outcome outcome;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.output = bytes_of(log);
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return outcome;
  }

  // Inode and time of change of every committed shard.
  std::map<std::string, std::pair<ino_t, std::int64_t>> committed(const std::string& out) const {
    std::map<std::string, std::pair<ino_t, std::int64_t>> found;
    const std::string parts = folder_.file(out) + ".parts";
    if (!fs::is_directory(parts)) return found;
    for (const auto& entry : fs::directory_iterator(parts)) {
      if (entry.path().extension() != ".h5") continue;
      struct stat info {};
      if (::stat(entry.path().c_str(), &info) != 0) continue;
      found[entry.path().string()] = {info.st_ino,
                                      info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec};
    }
    return found;
  }

  // Kill, resume and kill again, resume to the end: the same bytes as a run left alone, and no
  // committed shard is ever written again.
  void kill_and_resume(int points);

  TempFolder folder_;
  std::string model_ = "models/tiny-random-gpt2";
};

void Interruption::kill_and_resume(int points) {
  const Outcome whole = run(spec("whole.h5"));
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  const std::string expected = bytes_of(folder_.file("whole.h5"));
  ASSERT_FALSE(expected.empty());
  Philox random(11, 0);
  int killed = 0;
  int kept = 0;
  for (int point = 0; point < points; ++point) {
    CaptureSpec s = spec("run.h5");
    s.output.force = true;
    const double span = whole.seconds * 1e6;
    const auto moment = [&] { return 1 + static_cast<long>(random.uniform() * span); };
    // The first kills are spread over the whole run, however few there are.
    const auto spread = 1 + static_cast<long>((point + random.uniform()) * span / points);
    killed += run(s, spread).exit_code == -1 ? 1 : 0;
    EXPECT_FALSE(exists(folder_.file("run.h5")) && committed("run.h5").size() == 1);
    s.output.force = false;
    s.output.resume = true;
    const auto before = committed("run.h5");
    kept += static_cast<int>(before.size());
    run(s, moment());
    for (const auto& [path, identity] : committed("run.h5")) {
      const auto it = before.find(path);
      if (it == before.end()) continue;
      EXPECT_EQ(it->second, identity) << path << " was written again";
    }
    const Outcome last = run(s);
    ASSERT_EQ(last.exit_code, 0) << last.output;
    EXPECT_TRUE(bytes_of(folder_.file("run.h5")) == expected) << "after kill " << point;
    EXPECT_TRUE(exists(folder_.file("run.json")));
    fs::remove(folder_.file("run.h5"));
    fs::remove(folder_.file("run.json"));
  }
  EXPECT_GE(killed, points / 3) << "the kills came too late to test anything";
  EXPECT_GT(kept, 0) << "no kill came after a commit";
}

TEST_F(Interruption, KilledAnywhereARunResumesToTheSameBytes) {
  kill_and_resume(kill_points());
}

// Maps above 1024 tokens have pyramids, whose tiles are written among those of the map.
TEST_F(Interruption, KilledWithPyramidsUnderWayARunResumesToTheSameBytes) {
  model_ = "families/llama";
  testing::write_id_prompts(folder_.file("p.jsonl"), {1030, 1100, 1025, 1200}, 200);
  kill_and_resume(std::max(3, kill_points() / 3));
}

// Leaves a run with at least one committed shard and not all of them.
void kill_midway(const std::function<Outcome(long)>& run,
                 const std::function<std::size_t()>& shards, double seconds) {
  for (double part = 0.5; part < 4; part *= 1.15) {
    run(1 + static_cast<long>(seconds * part * 5e5));
    if (shards() > 0) return;
  }
}

TEST_F(Interruption, ADamagedShardIsFoundAndComputedAgain) {
  const Outcome whole = run(spec("whole.h5"));
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  CaptureSpec s = spec("run.h5");
  s.output.force = true;
  kill_midway([&](long after) { return run(s, after); }, [&] { return committed("run.h5").size(); },
              whole.seconds);
  const auto before = committed("run.h5");
  if (before.empty()) GTEST_SKIP() << "the machine was too uneven to kill the run midway";
  const std::string victim = before.begin()->first;
  std::string bytes = bytes_of(victim);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  std::ofstream(victim, std::ios::binary) << bytes;
  s.output.force = false;
  s.output.resume = true;
  const Outcome resumed = run(s);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_NE(resumed.output.find("warning"), std::string::npos) << resumed.output;
  EXPECT_TRUE(bytes_of(folder_.file("run.h5")) == bytes_of(folder_.file("whole.h5")));
}

TEST_F(Interruption, ResumingWithOtherOptionsNamesTheKey) {
  const Outcome whole = run(spec("whole.h5"));
  CaptureSpec s = spec("run.h5");
  s.output.force = true;
  kill_midway([&](long after) { return run(s, after); }, [&] { return committed("run.h5").size(); },
              whole.seconds);
  if (committed("run.h5").empty()) GTEST_SKIP() << "the machine was too uneven to kill midway";
  s.output.force = false;
  const Outcome refused = run(s);
  EXPECT_EQ(refused.exit_code, 3) << refused.output;
  s.output.resume = true;
  s.top_k = 3;
  const Outcome other = run(s);
  EXPECT_EQ(other.exit_code, 2) << other.output;
  EXPECT_NE(other.output.find("topk"), std::string::npos) << other.output;
  EXPECT_FALSE(committed("run.h5").empty());
}

// A file size limit stands for a full disk: the write fails with an error, not with a signal.
TEST_F(Interruption, AFullDiskIsExitThreeWithNothingHalf) {
  CaptureSpec s = spec("run.h5");
  const Outcome full = run(s, 0, "trap '' XFSZ; ulimit -f 200;");
  EXPECT_EQ(full.exit_code, 3) << full.output;
  EXPECT_NE(full.output.find("run.h5"), std::string::npos) << full.output;
  EXPECT_FALSE(exists(s.output.out));
  s.output.resume = true;
  const Outcome resumed = run(s);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.output;
}

TEST_F(Interruption, AFinishedRunResumesToItself) {
  CaptureSpec s = spec("run.h5");
  ASSERT_EQ(run(s).exit_code, 0);
  const std::string before = bytes_of(s.output.out);
  s.output.resume = true;
  const Outcome again = run(s);
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_TRUE(bytes_of(s.output.out) == before);
  EXPECT_EQ(again.output.find("kept 0"), std::string::npos) << again.output;
}

}  // namespace
}  // namespace attnscope
