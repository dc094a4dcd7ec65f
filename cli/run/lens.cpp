// The half of lens that needs LibTorch: LensSpec → run_lens → what the layers say.
#include "attnscope/probes/lens.h"

#include "console/lens_text.h"
#include "run/experiment.h"
#include "run/verbs.h"

namespace attnscope::run {

int run_lens(const LensSpec& spec, const std::vector<std::string>& command_line) {
  return run_experiment(spec, command_line, &attnscope::run_lens, "prompts", &console::lens_text);
}

}  // namespace attnscope::run
