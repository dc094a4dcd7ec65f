// manifest.json of an interrupted run, read by --resume.
#include <filesystem>

#include "attnscope/storage/output.h"
#include "scratch.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  std::filesystem::create_directory(scratch.path() + "/run.h5.parts");
  scratch.write("run.h5.parts/manifest.json", as_text(data, size));
  accepts([&] {
    Warnings warnings;
    const Output output({.path = scratch.path() + "/run.h5",
                         .if_exists = IfExists::resume,
                         .run_id = "r",
                         .config_json = R"({"topk":8,"nested":{"a":[1]}})",
                         .shards = {{0, 1}, {1, 2}}},
                        warnings);
    check(!output.complete() && !output.is_committed(0), "a shard that was never written");
  });
  return 0;
}
