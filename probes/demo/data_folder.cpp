#include <filesystem>
#include <system_error>

#include "attnscope/probes/demo.h"
#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"

namespace attnscope {

std::string demo_data_folder() {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::filesystem::path folder =
      program.parent_path().parent_path() / "share" / "attnscope" / "demo";
  if (!failed &&
      std::filesystem::is_regular_file(folder / "tiny-english" / "config.json", failed)) {
    return folder.string();
  }
  throw Error(ErrorKind::output, "DM02",
              {.where = escape_untrusted(folder.string(), 4096),
               .what = "the demo's model is not there",
               .expected = "tiny-english/config.json beside the program",
               .got = "",
               .next = "build or install attnscope again"});
}

}  // namespace attnscope
