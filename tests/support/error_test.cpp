#include "attnscope/support/error.h"

#include <gtest/gtest.h>

#include "attnscope/support/warnings.h"
#include "attnscope/version.h"

namespace attnscope {
namespace {

TEST(Error, OneLineNamesEveryPart) {
  const Error e(ErrorKind::input, "ST20",
                {.where = "m.safetensors",
                 .what = "tensor \"w\" has the wrong size",
                 .expected = "8 bytes",
                 .got = "9",
                 .next = "download it again"});
  EXPECT_STREQ(e.what(),
               "error [ST20] m.safetensors: tensor \"w\" has the wrong size; expected 8 bytes, "
               "got 9; download it again");
}

TEST(Error, LeavesOutWhatIsNotKnown) {
  EXPECT_STREQ(Error(ErrorKind::input, "CL01", {.what = "no prompt"}).what(),
               "error [CL01] no prompt");
  EXPECT_STREQ(Error(ErrorKind::input, "CL01", {.what = "bad", .got = "x"}).what(),
               "error [CL01] bad; got x");
}

TEST(Error, KindDecidesTheExitCode) {
  const auto code = [](ErrorKind kind) { return Error(kind, "XX00", {}).exit_code(); };
  EXPECT_EQ(code(ErrorKind::internal), 1);
  EXPECT_EQ(code(ErrorKind::input), 2);
  EXPECT_EQ(code(ErrorKind::output), 3);
  EXPECT_EQ(code(ErrorKind::limit), 4);
  EXPECT_EQ(code(ErrorKind::interrupted), 130);
}

TEST(Warnings, KeepsEachLineOnce) {
  Warnings warnings;
  warnings.add("a");
  warnings.add("b");
  warnings.add("a");
  EXPECT_EQ(warnings.lines(), (std::vector<std::string>{"a", "b"}));
}

TEST(Version, HeaderAndBuildAgree) {
  EXPECT_STREQ(ATTNSCOPE_VERSION, ATTNSCOPE_CMAKE_VERSION);
}

}  // namespace
}  // namespace attnscope
