// What a build without CUDA says.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/support/error.h"

namespace attnscope::testing {
namespace {

void expect_no_cuda(const std::function<void()>& action) {
  try {
    action();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "KE12");
    EXPECT_EQ(error.exit_code(), 3);
    EXPECT_NE(std::string(error.what()).find("-DATTNSCOPE_CUDA=ON"), std::string::npos);
  }
}

TEST(NoCuda, SaysHowToGetIt) {
  expect_no_cuda([] { cuda_limits(); });
  EXPECT_FALSE(cuda_passes_read(MemoryPlace::host));
  EXPECT_FALSE(cuda_passes_read(MemoryPlace::device));
  expect_no_cuda([] { launch_cuda_lse({}, nullptr, nullptr); });
  expect_no_cuda([] { launch_cuda_statistics({}, {}, {}, nullptr); });
}

}  // namespace
}  // namespace attnscope::testing
