#include "run/verbs.h"

#include "attnscope/support/error.h"

namespace attnscope::run {

int run_verb(const Envelope& envelope) {
  if (const auto* capture = std::get_if<CaptureSpec>(&envelope.spec)) {
    return run_capture(*capture, envelope.command_line);
  }
  if (const auto* demo = std::get_if<DemoSpec>(&envelope.spec)) {
    return run_demo(*demo, envelope.command_line);
  }
  if (const auto* ablate = std::get_if<AblateSpec>(&envelope.spec)) {
    return run_ablate(*ablate, envelope.command_line);
  }
  if (const auto* patch = std::get_if<PatchSpec>(&envelope.spec)) {
    return run_patch(*patch, envelope.command_line);
  }
  if (const auto* verdict = std::get_if<VerdictSpec>(&envelope.spec)) {
    return run_verdict(*verdict, envelope.command_line);
  }
  if (const auto* lens = std::get_if<LensSpec>(&envelope.spec)) {
    return run_lens(*lens, envelope.command_line);
  }
  if (const auto* merge = std::get_if<MergeSpec>(&envelope.spec)) {
    return run_merge(*merge, envelope.command_line);
  }
  if (const auto* doctor = std::get_if<DoctorSpec>(&envelope.spec)) return run_doctor(*doctor);
  throw Error(ErrorKind::internal, "RU02",
              {.where = "attnscope-run", .what = "a spec of a verb that does not run here"});
}

}  // namespace attnscope::run
