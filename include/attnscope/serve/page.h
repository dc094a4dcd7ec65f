// File: page.h
// The web viewer's page, compiled into the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::serve {

struct PageAsset {
  std::string_view path;  // as it is asked for: "/app.js"
  std::string_view type;  // Content-Type
  std::string_view bytes;
};

// The page in separate files, for the server. Empty if the program was built without node.
std::span<const PageAsset> page_assets();
// The same page as one file that needs no server. Empty if the program was built without node.
std::string_view one_file_page();

// Throws Error HT04 (exit 3), which says how to build the page, if there is none.
void require_page(std::span<const PageAsset> assets);

inline constexpr std::uint64_t kMaxEmbeddedBytes = 8U << 20U;

struct EmbeddedFile {
  std::string name;
  std::string bytes;
};

// Throws Error HT07 (exit 4) if they are larger than a page can hold.
std::vector<EmbeddedFile> read_embedded(const std::vector<std::string>& paths);

// The one-file page with files inside, which it opens by itself. `page` is one_file_page().
std::string page_with_files(std::string_view page, const std::vector<EmbeddedFile>& files);

}  // namespace attnscope::serve
