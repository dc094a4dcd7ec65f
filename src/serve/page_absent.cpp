// In place of the page, where it could not be built.
#include "attnscope/serve/page.h"

namespace attnscope::serve {

std::span<const PageAsset> page_assets() {
  return {};
}

std::string_view one_file_page() {
  return {};
}

}  // namespace attnscope::serve
