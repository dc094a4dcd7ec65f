#include "console/run_text.h"

#include "attnscope/support/text.h"

namespace attnscope::console {

std::string computed_text(const ExperimentResult& result) {
  std::string text = "Computed on " + result.device + " in " + result.dtype + " by " +
                     result.engine + ", " +
                     count_of(static_cast<std::uint64_t>(result.threads), "thread") + ", in " +
                     format_number(result.seconds, 3) + " s";
  if (result.cells_per_second > 0) {
    text += " (" + format_number(result.cells_per_second, 3) + " cells/s)";
  }
  return text + ".\n";
}

}  // namespace attnscope::console
