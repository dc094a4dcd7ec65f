#include "attnscope/serve/page.h"

#include <algorithm>
#include <cstddef>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/text.h"
#include "data_files.h"

namespace attnscope::serve {
namespace {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t given = std::min<std::size_t>(3, bytes.size() - i);
    unsigned bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8U | (j < given ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= given ? kDigits[bits >> (18U - 6U * j) & 63U] : '=';
    }
  }
  return out;
}

}  // namespace

void require_page(std::span<const PageAsset> assets) {
  if (!assets.empty()) return;
  throw Error(ErrorKind::output, "HT04",
              {.where = "view",
               .what = "this attnscope was built without the page, which node makes",
               .next = "install node 18 or later (apt-get install nodejs npm) and run `./run "
                       "build`"});
}

std::vector<EmbeddedFile> read_embedded(const std::vector<std::string>& paths) {
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) bytes += DataFile(path).size();
  if (bytes > kMaxEmbeddedBytes) {
    throw Error(ErrorKind::limit, "HT07",
                {.where = "--html",
                 .what = "too much for one page",
                 .expected = "at most " + format_bytes(kMaxEmbeddedBytes),
                 .got = format_bytes(bytes),
                 .next = "pass the file on beside attnscope-viewer.html, which opens it, or single "
                         "maps with `attnscope export`"});
  }
  const std::vector<std::string> names = distinct_names(paths);
  std::vector<EmbeddedFile> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    files.push_back({names[i], read_text_file(paths[i], "HT05", kMaxEmbeddedBytes)});
  }
  return files;
}

std::string page_with_files(std::string_view page, const std::vector<EmbeddedFile>& files) {
  const std::size_t place = page.find("<div id=\"app\">");
  if (place == std::string_view::npos) {
    throw Error(ErrorKind::internal, "HT06",
                {.where = "view", .what = "the page has no place for files"});
  }
  std::string out(page.substr(0, place));
  for (const EmbeddedFile& file : files) {
    out += "<script type=\"text/plain\" data-file=\"" + escape_markup(file.name) + "\">" +
           base64(file.bytes) + "</script>\n";
  }
  out += page.substr(place);
  return out;
}

}  // namespace attnscope::serve
