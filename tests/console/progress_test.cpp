#include "console/progress.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(ProgressLine, TellsSpeedAndTimeLeft) {
  const ProgressState state = {.items_done = 3,
                               .items_total = 12,
                               .tokens_done = 3,
                               .tokens_total = 12,
                               .seconds = 1,
                               .tokens_per_second = 3,
                               .seconds_left = 65};
  const std::string line = console::progress_line(state, "cells", "cells");
  EXPECT_NE(line.find("██████░░"), std::string::npos) << line;
  EXPECT_NE(line.find("3/12 cells, 3 cells/s, 1 min 05 s left"), std::string::npos) << line;
}

}  // namespace
}  // namespace attnscope
