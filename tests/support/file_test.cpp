#include "attnscope/support/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "attnscope/support/error.h"
#include "attnscope/support/sha256.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using testing::TempFolder;

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

int exit_code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.exit_code();
  }
  return 0;
}

TEST(InputFile, RefusesWhatIsNoRegularFile) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  fs::create_symlink("nowhere", folder.file("dangling"));
  for (const std::string& path : {folder.file("fifo"), folder.file("dangling"), folder.path(),
                                  folder.file("absent"), std::string("/dev/zero")}) {
    EXPECT_EQ(exit_code_of([&] { InputFile(path, "XX01"); }), 2) << path;
  }
}

TEST(InputFile, ReadsAnyPartAndRefusesTheRest) {
  const TempFolder folder;
  put(folder.file("a"), "0123456789");
  const InputFile file(folder.file("a"), "XX01");
  EXPECT_EQ(file.size(), 10u);
  char part[3] = {};
  file.read(4, part, 3);
  EXPECT_EQ(std::string(part, 3), "456");
  EXPECT_EQ(exit_code_of([&] { file.read(8, part, 3); }), 2);
}

TEST(InputFile, FileCutWhileOpenIsAnError) {
  const TempFolder folder;
  put(folder.file("a"), "0123456789");
  const InputFile file(folder.file("a"), "XX01");
  ASSERT_EQ(::truncate(folder.file("a").c_str(), 2), 0);
  char part[5] = {};
  EXPECT_EQ(exit_code_of([&] { file.read(0, part, 5); }), 2);
}

TEST(ReadTextFile, RefusesALargeFileBeforeReadingIt) {
  const TempFolder folder;
  put(folder.file("a"), "");
  ASSERT_EQ(::truncate(folder.file("a").c_str(), off_t{1} << 34), 0);
  EXPECT_EQ(exit_code_of([&] { read_text_file(folder.file("a"), "XX01", 1 << 20); }), 4);
}

TEST(WriteFileAtomically, CreateNeverOverwrites) {
  const TempFolder folder;
  write_file_atomically(folder.file("a"), "first", WriteMode::create);
  EXPECT_EQ(
      exit_code_of([&] { write_file_atomically(folder.file("a"), "second", WriteMode::create); }),
      3);
  EXPECT_EQ(content_of(folder.file("a")), "first");
  write_file_atomically(folder.file("a"), "third", WriteMode::replace);
  EXPECT_EQ(content_of(folder.file("a")), "third");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(WriteFileAtomically, MissingFolderIsAnOutputError) {
  const TempFolder folder;
  EXPECT_EQ(
      exit_code_of([&] { write_file_atomically(folder.file("no/a"), "x", WriteMode::create); }), 3);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WriteFileAtomically, SaysWhyInTheUsersOwnNames) {
  const TempFolder folder;
  put(folder.file("a"), "");
  const std::vector<std::pair<std::string, std::string>> table = {
      {folder.file("a"),
       "a: the file exists already; choose another file, or replace it with --force"},
      {folder.file("no/a"), "no/a: the folder " + folder.file("no") + " does not exist"},
      {folder.file("a/b"), "Not a directory"},
      {"/proc/attnscope-test", "cannot create a file in the folder /proc: "},
  };
  for (const auto& [path, says] : table) {
    const std::string message =
        message_of([&] { write_file_atomically(path, "x", WriteMode::create); });
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_EQ(message.find(".tmp."), std::string::npos) << message;
  }
}

// FIPS 180-2, appendix B.
TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, RemembersAFileUntilItChanges) {
  const TempFolder folder;
  const TempFolder cache;
  ASSERT_EQ(::setenv("ATTNSCOPE_CACHE", cache.path().c_str(), 1), 0);
  put(folder.file("a"), "abc");
  const std::string first = sha256_of_file(folder.file("a"), "XX01");
  EXPECT_EQ(first, sha256_of("abc"));
  ASSERT_FALSE(fs::is_empty(cache.path()));
  EXPECT_EQ(sha256_of_file(folder.file("a"), "XX01"), first);
  put(folder.file("a"), "changed");
  EXPECT_EQ(sha256_of_file(folder.file("a"), "XX01"), sha256_of("changed"));
  ::unsetenv("ATTNSCOPE_CACHE");
}

TEST(Sha256, DamagedCacheEntryIsNotBelieved) {
  const TempFolder folder;
  const TempFolder cache;
  ASSERT_EQ(::setenv("ATTNSCOPE_CACHE", cache.path().c_str(), 1), 0);
  put(folder.file("a"), "abc");
  sha256_of_file(folder.file("a"), "XX01");
  for (const auto& entry : fs::directory_iterator(cache.path())) put(entry.path(), "0000 1:2:3");
  EXPECT_EQ(sha256_of_file(folder.file("a"), "XX01"), sha256_of("abc"));
  ::unsetenv("ATTNSCOPE_CACHE");
}

}  // namespace
}  // namespace attnscope
