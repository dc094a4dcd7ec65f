// attnscope-run: the half of attnscope that links LibTorch. Started by attnscope, which passes the
// checked spec; it has no options of its own but --self-check.
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "attnscope/core/boundary.h"
#include "console/output.h"
#include "run/envelope.h"
#include "run/verbs.h"

int main(int argc, char** argv) {
  using namespace attnscope;
  console::prepare_streams();
  const bool self_check = argc == 2 && std::string_view(argv[1]) == "--self-check";
  const int code = console::guarded([&] {
    return at_boundary("attnscope-run", [&] {
      return self_check ? run::run_doctor(DoctorSpec{}) : run::run_verb(run::read_envelope());
    });
  });
  std::fflush(nullptr);
  // Without the destructors of LibTorch, which take longer than a small capture.
  ::_exit(code);
}
