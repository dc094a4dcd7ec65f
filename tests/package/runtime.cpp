// Uses the runtime from an installed package.
#include <cstdio>

#include "attnscope/core/batch.h"

int main() {
  const attnscope::Batch batch = attnscope::make_batch({{.ids = {1, 2, 3}}, {.ids = {4}}});
  std::printf("%d rows of %d\n", batch.size(), batch.padded_length());
  return batch.size() == 2 && batch.padded_length() == 3 && batch.padded() ? 0 : 1;
}
