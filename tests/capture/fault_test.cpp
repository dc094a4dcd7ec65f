// Captures whose system calls fail, one call a run, in processes of their own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attnscope/storage/verify.h"
#include "attnscope/support/philox.h"
#include "attnscope/support/sha256.h"
#include "capture_case.h"
#include "storage/faults.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using testing::exists;
using testing::Fault;
using testing::TempFolder;

// ATTNSCOPE_FAULT_POINTS asks for another number of points a fault than a quick test takes; 0 for
// all there are.
int fault_points() {
  constexpr int kQuick = 10;
  const char* asked = std::getenv("ATTNSCOPE_FAULT_POINTS");
  return asked == nullptr ? kQuick : std::max(0, std::atoi(asked));
}

class CaptureFaults : public ::testing::TestWithParam<Fault> {
 protected:
  void SetUp() override {
    testing::write_id_prompts(folder_.file("p.jsonl"), std::vector<int>(6, 20), 1000);
  }

  // The exit status of a capture in a child, 128 + the signal that ended it. Of a child that met
  // the fault and returned, 10 more.
  int capture(IfExists if_exists, Fault fault = Fault::none, int at = 0) const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(run(if_exists, fault, at));
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  int run(IfExists if_exists, Fault fault, int at) const {
    CaptureSpec spec = testing::spec_for("models/tiny-random-gpt2", path());
    spec.prompts.prompts_file = folder_.file("p.jsonl");
    spec.hooks = "pattern,z";
    spec.output.resume = if_exists == IfExists::resume;
    CaptureContext context;
    context.limits.shard_flop = 1e7;
    context.compressor_threads = 1;
    int code = 0;
    testing::arm(fault, at);
    try {
      run_capture(spec, context);
    } catch (const Error& error) {
      code = error.exit_code();
    }
    testing::disarm();
    if (fault == Fault::none) testing::write_number(folder_.file("calls"), testing::calls_made());
    return testing::fault_was_met() ? code + 10 : code;
  }

  // What has its final name is whole.
  void check_finished() const {
    if (exists(path())) {
      EXPECT_TRUE(bytes_of(path()) == expected_);
    }
    if (exists(sidecar())) {
      const auto json = nlohmann::json::parse(bytes_of(sidecar()));
      EXPECT_EQ(json.at(kSidecarHashKey), sha256_of(expected_));
    }
    const std::string parts = path() + ".parts";
    if (!fs::is_directory(parts)) return;
    for (const auto& entry : fs::directory_iterator(parts)) {
      if (entry.path().extension() != ".h5") continue;
      EXPECT_TRUE(verify_file(entry.path().string(), {.trust = Trust::own}).findings.empty())
          << entry.path();
    }
  }

  void clear() const {
    for (const char* name : {"run.h5", "run.json"}) fs::remove(folder_.file(name));
  }

  std::string path() const { return folder_.file("run.h5"); }
  std::string sidecar() const { return folder_.file("run.json"); }

  TempFolder folder_;
  std::string expected_;
};

TEST_P(CaptureFaults, LoseNothingThatWasCommitted) {
  const Fault fault = GetParam();
  ASSERT_EQ(capture(IfExists::refuse), 0);
  expected_ = bytes_of(path());
  clear();
  // The hashes of the model are remembered now, so that every run makes the same calls.
  ASSERT_EQ(capture(IfExists::refuse), 0);
  const int calls = std::atoi(bytes_of(folder_.file("calls")).c_str());
  ASSERT_GT(calls, 60);
  std::vector<int> points(static_cast<std::size_t>(calls));
  std::iota(points.begin(), points.end(), 1);
  if (const int wanted = fault_points(); wanted > 0 && wanted < calls) {
    Philox random(5, static_cast<std::uint64_t>(fault));
    for (std::size_t i = points.size(); i-- > 1;) {
      std::swap(points[i], points[random.below(static_cast<std::uint32_t>(i + 1))]);
    }
    points.resize(static_cast<std::size_t>(wanted));
    // The last calls name the merged file and write its sidecar.
    points.push_back(calls - 1);
    points.push_back(calls);
  }
  for (const int at : points) {
    clear();
    const int status = capture(IfExists::refuse, fault, at);
    ASSERT_TRUE(testing::kills(fault)         ? status == 128 + SIGKILL
                : testing::is_harmless(fault) ? status == 10 || status == 0
                                              : status == 13 || status == 10 || status == 0)
        << "call " << at << " of " << calls << ": " << status;
    check_finished();
    ASSERT_EQ(capture(IfExists::resume), 0) << "call " << at;
    ASSERT_TRUE(exists(path()) && exists(sidecar())) << "call " << at;
    check_finished();
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      left.push_back(entry.path().filename().string());
    }
    std::sort(left.begin(), left.end());
    ASSERT_EQ(left, (std::vector<std::string>{"calls", "p.jsonl", "run.h5", "run.json"}))
        << "call " << at;
  }
  std::cout << points.size() << " of " << calls << " points\n";
}

INSTANTIATE_TEST_SUITE_P(All, CaptureFaults, ::testing::ValuesIn(testing::kAllFaults),
                         [](const auto& test) { return testing::fault_name(test.param); });

}  // namespace
}  // namespace attnscope
