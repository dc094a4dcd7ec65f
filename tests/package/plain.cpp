// Uses the modules without LibTorch from an installed package.
#include <cstdio>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/support/error.h"
#include "attnscope/version.h"

int main() {
  attnscope::Warnings warnings;
  try {
    attnscope::open_checkpoint("no/such/folder", {}, warnings);
  } catch (const attnscope::Error& e) {
    std::printf("attnscope %s: %s\n", ATTNSCOPE_VERSION, e.what());
    return e.exit_code() == 2 ? 0 : 1;
  }
  return 1;
}
