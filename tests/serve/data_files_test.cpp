// The list of files and what is read of them.
#include "data_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "testing/temp_folder.h"

using namespace attnscope::serve;    // NOLINT
using namespace attnscope::testing;  // NOLINT

namespace {

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

using Names = std::vector<std::string>;

}  // namespace

TEST(DistinctNames, AreAsShortAsTheyCanBe) {
  EXPECT_EQ(distinct_names({"/a/run.h5"}), (Names{"run.h5"}));
  EXPECT_EQ(distinct_names({"/a/x.h5", "/b/y.h5"}), (Names{"x.h5", "y.h5"}));
  EXPECT_EQ(distinct_names({"/a/run.h5", "/b/run.h5", "/c/x.h5"}),
            (Names{"a/run.h5", "b/run.h5", "x.h5"}));
  EXPECT_EQ(distinct_names({"/a/c/run.h5", "/b/c/run.h5"}), (Names{"a/c/run.h5", "b/c/run.h5"}));
  EXPECT_EQ(distinct_names({"/run.h5", "/a/run.h5"}), (Names{"run.h5", "a/run.h5"}));
  EXPECT_EQ(distinct_names({"/a/../b/run.h5", "/c/run.h5"}), (Names{"b/run.h5", "c/run.h5"}));
}

// The command that serves files again is run from any folder.
TEST(DataFiles, AreListedByAbsolutePaths) {
  const TempFolder folder;
  const std::string whole = std::filesystem::canonical(folder.path()).string() + "/a/run.h5";
  write(whole, "12345");
  const auto relative = std::filesystem::relative(whole).parent_path() / "../a/run.h5";
  ASSERT_TRUE(relative.is_relative());
  const DataFiles files({relative.string()});
  const auto list = nlohmann::json::parse(files.list_json()).at("files");
  EXPECT_EQ(list[0].at("path"), whole);
  EXPECT_EQ(list[0].at("size"), 5);
}

TEST(DataFiles, AreListedWithSizesOrWithWhatIsWrong) {
  const TempFolder folder;
  const std::string whole = folder.path() + "/a \"<b>.h5";
  write(whole, "12345");
  const std::string gone = folder.path() + "/gone.h5";
  const std::string fifo = folder.path() + "/fifo.h5";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string link = folder.path() + "/link.h5";
  std::filesystem::create_symlink(whole, link);
  const DataFiles files({whole, gone, fifo, folder.path(), link, folder.path() + "/\xFF.h5"});
  const auto list = nlohmann::json::parse(files.list_json()).at("files");
  ASSERT_EQ(list.size(), 6U);
  EXPECT_EQ(list[0], (nlohmann::json{{"name", "a \"<b>.h5"},
                                     {"url", "files/0"},
                                     {"size", 5},
                                     {"path", std::filesystem::absolute(whole).string()}}));
  EXPECT_EQ(list[1].at("error"), "cannot open: No such file or directory");
  EXPECT_FALSE(list[1].contains("url"));
  EXPECT_EQ(list[2].at("error"), "not a regular file");
  EXPECT_EQ(list[3].at("error"), "not a regular file");
  EXPECT_EQ(list[4].at("size"), 5);
  EXPECT_EQ(list[5].at("name"), "\uFFFD.h5");
}

TEST(DataFiles, AFileThatWasReplacedOrWrittenToHasAnotherTag) {
  const TempFolder folder;
  const std::string path = folder.path() + "/run.h5";
  write(path, "12345");
  const DataFiles files({path});
  const std::string before = files.open(0)->etag();
  EXPECT_EQ(files.open(0)->etag(), before);
  EXPECT_TRUE(before.starts_with('"') && before.ends_with('"'));
  write(path, "123456");
  const std::string longer = files.open(0)->etag();
  EXPECT_NE(longer, before);
  // The same bytes, length and time in another file.
  const std::string copy = folder.path() + "/copy.h5";
  write(copy, "123456");
  std::filesystem::last_write_time(copy, std::filesystem::last_write_time(path));
  std::filesystem::rename(copy, path);
  EXPECT_NE(files.open(0)->etag(), longer);
}

TEST(DataFiles, ReadsSayHowMuchThereWas) {
  const TempFolder folder;
  const std::string path = folder.path() + "/run.h5";
  write(path, "0123456789");
  const DataFile file(path);
  std::array<char, 16> bytes{};
  EXPECT_EQ(file.read(4, bytes.data(), 3), 3U);
  EXPECT_EQ(std::string(bytes.data(), 3), "456");
  EXPECT_EQ(file.read(8, bytes.data(), 5), 2U);
  EXPECT_EQ(file.read(10, bytes.data(), 5), 0U);
}
