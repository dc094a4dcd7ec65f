#include "attnscope/storage/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/output.h"
#include "attnscope/support/error.h"
#include "attnscope/support/philox.h"
#include "attnscope/support/sha256.h"
#include "storage/sample.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::TempFolder;
using testing::write_sample;

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The findings, or the one error that kept the file from being read.
std::vector<std::string> complaints(const std::string& path) {
  std::vector<std::string> out;
  try {
    for (const Finding& finding : verify_file(path)) out.push_back(describe(finding));
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2) << error.what();
    out.push_back(error.what());
  }
  return out;
}

TEST(Verify, WrittenFilesHaveNoFindings) {
  const TempFolder folder;
  int number = 0;
  for (const FileLayout layout : {FileLayout::per_prompt, FileLayout::packed}) {
    for (const MapDType dtype : {MapDType::r10, MapDType::f32, MapDType::f16}) {
      for (const Floor floor : {Floor::off, Floor::on}) {
        const std::string path = folder.file(std::to_string(number++) + ".h5");
        write_sample(path,
                     {.lengths = {1, 140}, .layout = layout, .map_dtype = dtype, .floor = floor});
        for (const std::string& text : complaints(path)) ADD_FAILURE() << path << ": " << text;
      }
    }
  }
}

TEST(Verify, FindsEveryFlippedBitWithTheFilesHash) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  write_sample(path, {.lengths = {3, 20}});
  const std::string bytes = content(path);
  put(sidecar_path(path),
      "{\"" + std::string(kSidecarHashKey) + "\": \"" + sha256_of(bytes) + "\"}");
  EXPECT_TRUE(complaints(path).empty());
  Philox random(11, 0);
  for (int i = 0; i < 100; ++i) {
    std::string flipped = bytes;
    const auto at = random.below(static_cast<std::uint32_t>(bytes.size()));
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random.below(8)));
    put(path, flipped);
    EXPECT_FALSE(complaints(path).empty()) << "byte " << at;
  }
}

// Everything a reader can see of a file: values, attributes, names.
std::string seen(const h5::Group& group) {
  std::string out = group.path();
  const auto attributes = [&out](const h5::Object& object) {
    for (const std::string& name : object.attribute_names()) {
      out += name + "=" + object.text(name).value_or("");
      for (const std::int64_t value : object.integers(name)) out += std::to_string(value) + ",";
      out += std::to_string(object.number(name).value_or(0)) + ";";
      for (const std::string& text : object.texts(name)) out += text + ",";
    }
  };
  attributes(group);
  for (const std::string& name : group.names()) {
    if (group.is_group(name)) {
      out += seen(group.open_group(name));
      continue;
    }
    const h5::Dataset dataset = group.open_dataset(name);
    attributes(dataset);
    std::string values(dataset.count() * dataset.type().bytes, '\0');
    dataset.read(values.data());
    out += dataset.path() + values;
  }
  return out;
}

TEST(Verify, FindsFlippedValuesWithoutTheFilesHash) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  write_sample(path, {.lengths = {3, 20}});
  const std::string bytes = content(path);
  const std::string before = seen(h5::File::open(path).root());
  Philox random(12, 0);
  int unseen = 0;
  for (int i = 0; i < 100; ++i) {
    std::string flipped = bytes;
    const auto at = random.below(static_cast<std::uint32_t>(bytes.size()));
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random.below(8)));
    put(path, flipped);
    if (!complaints(path).empty()) continue;
    // Nothing found: the bit must lie where no reader looks.
    ++unseen;
    EXPECT_TRUE(seen(h5::File::open(path).root()) == before) << "byte " << at;
  }
  EXPECT_LT(unseen, 50);
}

// One pattern [h=1 q=2 k=2] with the given values.
std::string with_map(const std::string& path, const std::vector<float>& values, MapSpec spec) {
  CaptureWriter writer(path, testing::sample_file_info({}), testing::sample_model({}),
                       testing::sample_run(), {});
  writer.add_prompt(testing::sample_prompt(0, 2));
  spec.heads = 1;
  spec.queries = 2;
  spec.keys = 2;
  spec.causal = true;
  const HookId hook{spec.kind == MapKind::scores ? Site::attn_scores : Site::pattern, 0};
  const TileGrid grid(spec);
  const int map = writer.open_map(0, hook, spec);
  ChunkCompressor compressor;
  writer.write_tile(
      map, grid.tiles().at(0),
      compressor.compress_tile(
          {.data = values.data(), .queries = 2, .keys = 2, .head_stride = 4, .query_stride = 2},
          grid.target()));
  writer.close_map(map);
  writer.finish();
  return path;
}

TEST(Verify, FindsNumbersThatCannotBe) {
  const TempFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  struct Case {
    std::vector<float> values;
    MapSpec spec;
    std::string finding;  // empty = none
  };
  const MapSpec f32{.dtype = MapDType::f32};
  const MapSpec free{.dtype = MapDType::f32, .row_sum = RowSum::free};
  const MapSpec sink{.dtype = MapDType::f32, .row_sum = RowSum::sink};
  const MapSpec scores{.kind = MapKind::scores, .dtype = MapDType::f32, .row_sum = RowSum::free};
  const std::vector<Case> cases{
      {{1, 0, 0.5F, 0.5F}, f32, ""},
      {{1, 0, 0.5F, 0.50001F}, f32, "row sum"},
      {{1, 0, 0.5F, 0.50001F}, {}, ""},  // r10 holds to 2^-11
      {{1, 0, 0.5F, 0.502F}, {}, "row sum"},
      {{1, 0.1F, 0.5F, 0.5F}, f32, "masked cell"},
      {{1, 0, nan, 1}, f32, "value at"},
      {{1, 0, -0.5F, 1.5F}, f32, "value at"},
      {{3, 0, 2, 2}, free, ""},
      {{1, 0, nan, 1}, free, "value at"},
      {{0.7F, 0, 0.2F, 0.2F}, sink, ""},  // the sink's mass is not stored
      {{1.1F, 0, 0.2F, 0.2F}, sink, "value at"},
      {{1, -inf, -inf, 3}, scores, ""},
      {{1, 0, 2, 3}, scores, "masked cell"},
      {{1, -inf, inf, 3}, scores, "value at"},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string path = folder.file(std::to_string(i) + ".h5");
    const auto found = complaints(with_map(path, cases[i].values, cases[i].spec));
    if (cases[i].finding.empty()) {
      EXPECT_TRUE(found.empty()) << i << ": " << found.at(0);
    } else {
      ASSERT_EQ(found.size(), 1U) << i;
      EXPECT_NE(found[0].find(cases[i].finding), std::string::npos) << found[0];
    }
  }
}

TEST(Verify, FindsTopKeysOutOfRange) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  {
    CaptureWriter writer(path, testing::sample_file_info({}), testing::sample_model({}),
                         testing::sample_run(), {});
    writer.add_prompt(testing::sample_prompt(0, 2));
    const int table = writer.open_attention(0, {.layers = {0},
                                                .n_heads = {1},
                                                .queries = 2,
                                                .keys = 2,
                                                .top_k = 2,
                                                .head_stats = {"entropy", "max"},
                                                .row_stats = {"entropy"}});
    const std::vector<float> two{0.1F, 1.2F};
    const std::vector<std::int32_t> index{0, 1, 2, 1};
    const std::vector<float> value{0.5F, 0.5F, 0.5F, 0.5F};
    const std::vector<std::uint8_t> overview(4);
    writer.write_attention(table, 0, {two, two, index, value, two, two, overview});
    writer.close_attention(table);
    writer.finish();
  }
  const auto found = complaints(path);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(found[0].find("head_stats: max; expected 0 … 1"), std::string::npos) << found[0];
  EXPECT_NE(found[1].find("top keys of row 1"), std::string::npos) << found[1];
}

}  // namespace
}  // namespace attnscope
