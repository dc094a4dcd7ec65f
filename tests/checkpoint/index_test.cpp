// Shards and their index.
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint_files.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A copy of a small model in two shards, changed by each test.
class Shards : public ::testing::Test {
 protected:
  Shards() {
    const std::string source = fixture("families/qwen2");
    const std::vector<FileTensor> tensors = tensors_of(source);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const int shard = i < tensors.size() / 2 ? 0 : 1;
      parts_[shard].push_back(tensors[i]);
      index_["weight_map"][tensors[i].name] = kNames[shard];
    }
    fs::create_directories(model_);
    write_bytes(model_ + "/config.json", config_of(source).dump());
    write_shards();
    write_index();
  }

  void write_shards() {
    for (int i = 0; i < 2; ++i) {
      write_bytes(model_ + "/" + kNames[i], safetensors_file(parts_[i]));
    }
  }
  void write_index() { write_bytes(model_ + "/model.safetensors.index.json", index_.dump()); }
  // The index with the first tensor in another file.
  Error error_with_file(const json& value) {
    index_["weight_map"].begin().value() = value;
    write_index();
    return open_error(model_);
  }

  inline static const char* const kNames[2] = {"model-00001-of-00002.safetensors",
                                               "model-00002-of-00002.safetensors"};
  TempFolder folder_;
  std::string model_ = folder_.file("model");
  std::vector<FileTensor> parts_[2];
  json index_ = {{"metadata", {{"total_size", 1}}}};
};

TEST_F(Shards, OpenAsOneModel) {
  Warnings warnings;
  const Checkpoint checkpoint = open_checkpoint(model_, {}, warnings);
  EXPECT_EQ(checkpoint.weight_files.size(), 2U);
  EXPECT_EQ(checkpoint.tensors->tensors().size(), parts_[0].size() + parts_[1].size());
  EXPECT_TRUE(warnings.lines().empty());
}

TEST_F(Shards, NamesThatAreNoFileNameAreRefusedBeforeAnyOpen) {
  write_bytes(folder_.file("outside.safetensors"), safetensors_file(parts_[0]));
  for (const std::string& name :
       {std::string("../outside.safetensors"), std::string("/etc/passwd"),
        std::string("a/b.safetensors"), std::string(""), std::string("a\0.safetensors", 14),
        std::string(".safetensors"), std::string("a\\b.safetensors"), std::string("model.bin"),
        folder_.file("outside.safetensors"), std::string("m\xC3\xA9.safetensors"),
        std::string(300, 'a') + ".safetensors"}) {
    const Error error = error_with_file(name);
    EXPECT_EQ(error.code(), "IX02") << name << ": " << error.what();
    EXPECT_EQ(error.exit_code(), 2);
  }
}

TEST_F(Shards, LinksOutOfTheFolderAreRefused) {
  write_bytes(folder_.file("outside.safetensors"), safetensors_file(parts_[0]));
  fs::remove(model_ + "/" + kNames[0]);
  fs::create_symlink("../outside.safetensors", model_ + "/" + kNames[0]);
  EXPECT_EQ(open_error(model_).code(), "IX03");
  fs::remove(model_ + "/" + kNames[0]);
  fs::create_symlink("nowhere", model_ + "/" + kNames[0]);
  EXPECT_EQ(open_error(model_).code(), "IX03");
}

TEST_F(Shards, LinksWithinTheFolderAreFollowed) {
  fs::create_directory(model_ + "/store");
  fs::rename(model_ + "/" + kNames[0], model_ + "/store/x");
  fs::create_symlink("store/x", model_ + "/" + kNames[0]);
  Warnings warnings;
  EXPECT_NO_THROW(open_checkpoint(model_, {}, warnings));
}

TEST_F(Shards, MissingShardIsNamed) {
  fs::remove(model_ + "/" + kNames[1]);
  const Error error = open_error(model_);
  EXPECT_EQ(error.code(), "IX04");
  EXPECT_NE(std::string(error.what()).find(kNames[1]), std::string::npos);
}

TEST_F(Shards, TensorMappedToTheOtherShardIsNamed) {
  const std::string tensor = parts_[0].front().name;
  index_["weight_map"][tensor] = kNames[1];
  write_index();
  const Error error = open_error(model_);
  EXPECT_EQ(error.code(), "IX04");
  EXPECT_NE(std::string(error.what()).find(tensor), std::string::npos);
}

TEST_F(Shards, TensorInNoShardIsNamed) {
  index_["weight_map"]["model.ghost"] = kNames[1];
  write_index();
  const Error error = open_error(model_);
  EXPECT_EQ(error.code(), "IX04");
  EXPECT_NE(std::string(error.what()).find("model.ghost"), std::string::npos);
}

TEST_F(Shards, TensorInTwoShardsIsRefused) {
  parts_[1].push_back(parts_[0].front());
  write_shards();
  const Error error = open_error(model_);
  EXPECT_EQ(error.code(), "IX05");
  EXPECT_NE(std::string(error.what()).find(parts_[0].front().name), std::string::npos);
}

TEST_F(Shards, MapsOfTheWrongTypeAreRefused) {
  EXPECT_EQ(error_with_file(7).code(), "IX01");
  for (const json& map : {json("x"), json::array({1}), json(), json::object()}) {
    index_["weight_map"] = map;
    write_index();
    EXPECT_EQ(open_error(model_).code(), "IX01") << map;
  }
  write_bytes(model_ + "/model.safetensors.index.json", "[]");
  EXPECT_EQ(open_error(model_).code(), "IX01");
  write_bytes(model_ + "/model.safetensors.index.json", "{\"weight_map\":{\"a\":");
  EXPECT_EQ(open_error(model_).code(), "IX01");
}

TEST_F(Shards, TooManyEntriesAndTooLargeFilesAreOverTheLimit) {
  const auto error_of_entries = [&](int n) {
    std::string text = "{\"weight_map\":{";
    for (int i = 0; i < n; ++i) {
      text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"a.safetensors\"";
    }
    write_bytes(model_ + "/model.safetensors.index.json", text + "}}");
    return open_error(model_);
  };
  const Error entries = error_of_entries(200'001);
  EXPECT_EQ(entries.code(), "IX06");
  EXPECT_EQ(entries.exit_code(), 4);
  const Error size = error_of_entries(1'000'000);
  EXPECT_EQ(size.code(), "IX01");
  EXPECT_EQ(size.exit_code(), 4);
}

}  // namespace
}  // namespace attnscope::testing
