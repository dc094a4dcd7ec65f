// The page with files inside, and a program without the page.
#include "attnscope/serve/page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "attnscope/support/error.h"
#include "testing/temp_folder.h"

using namespace attnscope;           // NOLINT
using namespace attnscope::serve;    // NOLINT
using namespace attnscope::testing;  // NOLINT

namespace {

const std::string kPage = "<body>\n<div id=\"app\"></div>\n</body>\n";

std::string with(const EmbeddedFile& file) {
  return page_with_files(kPage, {file});
}

}  // namespace

// Test vectors of RFC 4648, section 10, and the bytes that need the last digits.
TEST(PageWithFiles, HoldsThemInBase64BeforeTheApp) {
  for (const auto& [bytes, text] : {std::pair<std::string, std::string>{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"},
                                    {"\xFB\xFF\xBF", "+/+/"}}) {
    EXPECT_EQ(with({"a.h5", bytes}), "<body>\n<script type=\"text/plain\" data-file=\"a.h5\">" +
                                         text + "</script>\n<div id=\"app\"></div>\n</body>\n");
  }
}

TEST(PageWithFiles, TakesNoMarkupFromNames) {
  const std::string page = with({"\"><script>&'.h5", "x"});
  EXPECT_NE(page.find("data-file=\"&quot;&gt;&lt;script&gt;&amp;&#39;.h5\""), std::string::npos)
      << page;
}

TEST(PageWithFiles, KeepsTheirOrder) {
  const std::string page = page_with_files(kPage, {{"a.h5", "1"}, {"b.h5", "2"}});
  EXPECT_LT(page.find("a.h5"), page.find("b.h5"));
  EXPECT_LT(page.find("b.h5"), page.find("<div id=\"app\">"));
}

TEST(PageWithFiles, MoreThanAPageHoldsIsALimit) {
  const TempFolder folder;
  const std::string path = folder.path() + "/run.h5";
  std::ofstream(path) << "x";
  std::filesystem::resize_file(path, kMaxEmbeddedBytes);
  EXPECT_EQ(read_embedded({path}).front().bytes.size(), kMaxEmbeddedBytes);
  const std::string small = folder.path() + "/small.h5";
  std::ofstream(small) << "x";
  try {
    read_embedded({path, small});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
    EXPECT_NE(std::string(error.what()).find("8 MiB"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("attnscope export"), std::string::npos);
  }
}

TEST(Page, ABuildWithoutItSaysHowToMakeIt) {
  try {
    require_page({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 3);
    for (const char* part : {"node", "apt-get install nodejs npm", "./run build"}) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

// One build has both forms of the page or none.
TEST(Page, IsWhole) {
  if (page_assets().empty()) {
    EXPECT_TRUE(one_file_page().empty());
    GTEST_SKIP() << "built without node: there is no page";
  }
  EXPECT_NE(one_file_page().find("<div id=\"app\">"), std::string_view::npos);
  for (const PageAsset& asset : page_assets()) {
    EXPECT_TRUE(asset.path.starts_with('/'));
    EXPECT_FALSE(asset.bytes.empty()) << asset.path;
    if (asset.path == "/hdf5.wasm") {
      EXPECT_TRUE(asset.bytes.starts_with(std::string_view("\0asm", 4)));
    }
  }
}
