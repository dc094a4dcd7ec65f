// The forms of -m: folders, cache folders, names in the cache.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "checkpoint_files.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

namespace fs = std::filesystem;

// Sets one environment variable for a scope.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~EnvironmentVariable() {
    if (old_) {
      ::setenv(name_, old_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// A cache as huggingface_hub lays it out: blobs, refs/main, snapshots of links.
class HubCache : public ::testing::Test {
 protected:
  static constexpr const char* kRevision = "0123456789abcdef0123456789abcdef01234567";

  HubCache() {
    fs::create_directories(repository_ + "/blobs");
    fs::create_directories(repository_ + "/refs");
    fs::create_directories(snapshot_);
    const std::string source = fixture("families/llama");
    for (const char* name : {"config.json", "model.safetensors"}) {
      fs::copy_file(source + "/" + name, repository_ + "/blobs/sha-" + name);
      fs::create_symlink("../../blobs/sha-" + std::string(name), snapshot_ + "/" + name);
    }
    write_bytes(repository_ + "/refs/main", kRevision);
  }

  std::string family_of(const std::string& model) {
    Warnings warnings;
    const Checkpoint checkpoint = open_checkpoint(model, {}, warnings);
    warning_count_ = warnings.lines().size();
    name_ = checkpoint.config.name;
    return checkpoint.config.family;
  }

  TempFolder folder_;
  std::string hub_ = folder_.file("hub");
  std::string repository_ = hub_ + "/models--some-org--tiny.llama";
  std::string snapshot_ = repository_ + "/snapshots/" + kRevision;
  std::size_t warning_count_ = 0;
  std::string name_;
};

TEST_F(HubCache, OpensByNameThroughEachVariable) {
  {
    const EnvironmentVariable cache("HF_HUB_CACHE", hub_);
    EXPECT_EQ(family_of("some-org/tiny.llama"), "llama");
    EXPECT_EQ(name_, "some-org/tiny.llama");
    EXPECT_EQ(warning_count_, 0U);
  }
  const EnvironmentVariable no_cache("HF_HUB_CACHE", "");
  {
    const EnvironmentVariable home("HF_HOME", folder_.path());
    EXPECT_EQ(family_of("some-org/tiny.llama"), "llama");
  }
  const EnvironmentVariable no_home("HF_HOME", "");
  fs::create_directories(folder_.file(".cache/huggingface"));
  fs::create_directory_symlink(hub_, folder_.file(".cache/huggingface/hub"));
  const EnvironmentVariable xdg("XDG_CACHE_HOME", "");
  const EnvironmentVariable home("HOME", folder_.path());
  EXPECT_EQ(family_of("some-org/tiny.llama"), "llama");
}

TEST_F(HubCache, OpensTheCacheFolderAndASnapshot) {
  EXPECT_EQ(family_of(repository_), "llama");
  EXPECT_EQ(family_of(repository_ + "/"), "llama");
  EXPECT_EQ(family_of(snapshot_), "llama");
}

TEST_F(HubCache, AFolderOfThatNameWinsOverTheCache) {
  const EnvironmentVariable cache("HF_HUB_CACHE", hub_);
  const fs::path before = fs::current_path();
  fs::create_directories(folder_.file("some-org"));
  fs::copy(fixture("families/gpt2"), folder_.file("some-org/tiny.llama"));
  fs::current_path(folder_.path());
  EXPECT_EQ(family_of("some-org/tiny.llama"), "gpt2");
  fs::current_path(before);
}

TEST_F(HubCache, AbsentModelsAreNamedWithTheNearestAndNothingIsDownloaded) {
  const EnvironmentVariable cache("HF_HUB_CACHE", hub_);
  const Error near = open_error("some-org/tiny.lama");
  EXPECT_EQ(near.code(), "CK01");
  EXPECT_EQ(near.exit_code(), 2);
  EXPECT_NE(std::string(near.what()).find("some-org/tiny.llama"), std::string::npos) << near.what();
  EXPECT_NE(std::string(open_error("zzz/qqqqqqqqqq").what()).find("nothing is downloaded"),
            std::string::npos);
}

TEST_F(HubCache, RefsMustNameASnapshot) {
  for (const std::string& reference :
       {std::string("../../.."), std::string("ffff"), std::string(""), std::string("a/b")}) {
    write_bytes(repository_ + "/refs/main", reference);
    EXPECT_EQ(open_error(repository_).code(), "CK03") << reference;
  }
  fs::remove(repository_ + "/refs/main");
  EXPECT_EQ(family_of(repository_), "llama");
  EXPECT_EQ(warning_count_, 1U);
  fs::create_directories(repository_ + "/snapshots/other");
  EXPECT_EQ(open_error(repository_).code(), "CK03");
}

TEST_F(HubCache, LinksToAnotherRepositoryAreRefused) {
  const std::string other = hub_ + "/models--evil--x/blobs";
  fs::create_directories(other);
  fs::copy_file(repository_ + "/blobs/sha-model.safetensors", other + "/w");
  fs::remove(snapshot_ + "/model.safetensors");
  fs::create_symlink("../../../models--evil--x/blobs/w", snapshot_ + "/model.safetensors");
  EXPECT_EQ(open_error(repository_).code(), "IX03");
}

// A folder whose name only starts like another one's is not inside it.
TEST(Links, ANeighbourWithTheSamePrefixIsOutside) {
  const TempFolder folder;
  fs::copy(fixture("families/gpt2"), folder.file("model"));
  fs::create_directories(folder.file("model-evil"));
  fs::rename(folder.file("model/model.safetensors"), folder.file("model-evil/w"));
  fs::create_symlink("../model-evil/w", folder.file("model/model.safetensors"));
  EXPECT_EQ(open_error(folder.file("model")).code(), "IX03");
}

TEST(Links, ConfigurationsAndTokenizersFollowTheSameRule) {
  const TempFolder folder;
  fs::copy(fixture("families/gpt2"), folder.file("model"));
  fs::create_symlink("/etc/passwd", folder.file("model/tokenizer.json"));
  EXPECT_EQ(open_error(folder.file("model")).code(), "CK05");
  fs::remove(folder.file("model/tokenizer.json"));
  fs::rename(folder.file("model/config.json"), folder.file("outside.json"));
  fs::create_symlink("../outside.json", folder.file("model/config.json"));
  EXPECT_EQ(open_error(folder.file("model")).code(), "CF05");
}

TEST(Names, ThatAreNoModelAreRefused) {
  const TempFolder folder;
  write_bytes(folder.file("notes.txt"), "hello");
  for (const std::string& name :
       {std::string(""), std::string("a\0b", 3), std::string("../.."), folder.file("absent"),
        std::string("a/b/c"), std::string("\x1b[31mred")}) {
    const Error error = open_error(name);
    EXPECT_EQ(error.exit_code(), 2) << name;
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(open_error(folder.file("notes.txt")).code(), "CK02");
}

TEST(Folders, WithAFifoOrAFolderInPlaceOfAFileAreRefused) {
  const TempFolder folder;
  fs::copy(fixture("families/gpt2"), folder.file("model"));
  fs::remove(folder.file("model/model.safetensors"));
  fs::create_directory(folder.file("model/model.safetensors"));
  EXPECT_EQ(open_error(folder.file("model")).code(), "ST22");
  fs::remove(folder.file("model/config.json"));
  fs::create_directory(folder.file("model/config.json"));
  EXPECT_EQ(open_error(folder.file("model")).code(), "CF05");
}

}  // namespace
}  // namespace attnscope::testing
