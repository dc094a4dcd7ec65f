// attnscope-run: the half of attnscope that links LibTorch. Started by attnscope, which passes the
// checked spec; its only options are --self-check and --start-check, which does nothing.
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "attnscope/core/boundary.h"
#include "console/output.h"
#include "run/envelope.h"
#include "run/exhaustion.h"
#include "run/verbs.h"

int main(int argc, char** argv) {
  using namespace attnscope;
  console::prepare_streams();
  run::report_exhaustion();
  const std::string_view option = argc == 2 ? argv[1] : "";
  if (option == "--start-check") ::_exit(0);
  const int code = console::guarded([&] {
    return at_boundary("attnscope-run", [&] {
      return option == "--self-check" ? run::run_doctor(DoctorSpec{})
                                      : run::run_verb(run::read_envelope());
    });
  });
  std::fflush(nullptr);
  // Without the destructors of LibTorch, which take longer than a small capture.
  ::_exit(code);
}
