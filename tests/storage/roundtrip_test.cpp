#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/reader.h"
#include "storage/outside_readers.h"
#include "storage/sample.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::Expected;
using testing::SampleOptions;
using testing::TempFolder;
using testing::write_sample;

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void expect_h5dread_equal(const std::string& path, const std::vector<Expected>& expected) {
  const h5::File file = h5::File::open(path);
  const h5::Group root = file.root();
  for (const Expected& e : expected) {
    const h5::Dataset dataset = root.open_dataset(e.path.substr(1));
    std::vector<std::byte> bytes(dataset.count() * dataset.type().bytes);
    dataset.read(bytes.data());
    EXPECT_EQ(bytes, e.bytes) << e.path;
    EXPECT_EQ(dataset.labels().size(), dataset.dims().size()) << e.path;
  }
}

class RoundTrip : public ::testing::TestWithParam<MapDType> {};

TEST_P(RoundTrip, EveryReaderSeesTheSameBits) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  const auto expected = write_sample(path, {.map_dtype = GetParam()});
  EXPECT_GT(expected.size(), 40U);
  expect_h5dread_equal(path, expected);
  testing::expect_h5py_equal(path, expected, folder.path());
  // One process a dataset is slow.
  if (GetParam() == MapDType::r10) {
    testing::expect_h5dump_equal(path, expected, folder.path());
  }
}

INSTANTIATE_TEST_SUITE_P(All, RoundTrip,
                         ::testing::Values(MapDType::r10, MapDType::f32, MapDType::f16),
                         [](const auto& test) { return std::string(map_dtype_name(test.param)); });

TEST(Writer, SameInputGivesTheSameBytes) {
  const TempFolder folder;
  for (const FileLayout layout : {FileLayout::per_prompt, FileLayout::packed}) {
    const std::string a = folder.file(layout == FileLayout::packed ? "a1.h5" : "a0.h5");
    const std::string b = folder.file(layout == FileLayout::packed ? "b1.h5" : "b0.h5");
    write_sample(a, {.layout = layout});
    write_sample(b, {.layout = layout});
    EXPECT_TRUE(content(a) == content(b));
  }
}

TEST(Writer, MaskedTilesAreNotStored) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  write_sample(path, {.lengths = {300}});
  const h5::File file = h5::File::open(path);
  const h5::Group cache = file.root().open_group("prompts/p000000/cache");
  for (const char* name : {"blocks.0.attn.hook_pattern", "blocks.0.attn.hook_attn_scores"}) {
    const h5::Dataset map = cache.open_dataset(name);
    EXPECT_EQ(map.chunk(), (h5::Dims{1, 256, 256}));
    EXPECT_EQ(map.chunk_bytes({0, 0, 256}), 0U);
    EXPECT_GT(map.chunk_bytes({0, 256, 256}), 0U);
    float corner = 1;
    map.read({.offset = {2, 0, 299}, .extent = {1, 1, 1}}, &corner);
    EXPECT_EQ(corner, map.path().find("scores") == std::string::npos
                          ? 0.0F
                          : -std::numeric_limits<float>::infinity());
  }
}

TEST(Reader, SaysWhatWasWritten) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  const SampleOptions options{.lengths = {7, 20}, .shard = ShardId{1, 3}};
  write_sample(path, options);
  const CaptureReader reader(path);
  EXPECT_EQ(reader.prompts(), 2);
  EXPECT_EQ(reader.file().shard, options.shard);
  EXPECT_EQ(reader.model().sizes, testing::sample_model(options).sizes);
  EXPECT_EQ(reader.model().config_json, "{\"a\":1}");
  EXPECT_EQ(reader.run().libraries.at("hdf5"), "1.10.8");
  const PromptRecord expected = testing::sample_prompt(1, 20);
  const PromptRecord read = reader.prompt(1);
  EXPECT_EQ(read.text, expected.text);
  EXPECT_EQ(read.group, expected.group);
  EXPECT_EQ(read.tokens.ids, expected.tokens.ids);
  EXPECT_EQ(read.tokens.text, expected.tokens.text);
  EXPECT_EQ(read.tokens.bytes, expected.tokens.bytes);
  EXPECT_EQ(read.tokens.char_offsets, expected.tokens.char_offsets);
  EXPECT_EQ(read.columns.size(), expected.columns.size());
  for (const auto& column : expected.columns) {
    EXPECT_NE(std::find(read.columns.begin(), read.columns.end(), column), read.columns.end())
        << column.first;
  }
  const std::vector<HookId> hooks{
      {Site::resid_pre, 0}, {Site::attn_scores, 0}, {Site::pattern, 0}, {Site::z, 0},
      {Site::resid_pre, 1}, {Site::attn_scores, 1}, {Site::pattern, 1}, {Site::z, 1}};
  EXPECT_EQ(reader.hooks(0), hooks);
  EXPECT_FALSE(reader.site(0, {Site::mlp_out, 0}).has_value());
  const auto site = reader.site(0, {Site::pattern, 1});
  ASSERT_TRUE(site && site->map);
  EXPECT_TRUE(site->map->causal);
  EXPECT_EQ(site->map->dtype, MapDType::r10);
  EXPECT_EQ(site->shape, (std::vector<std::int64_t>{3, 7, 7}));
  const auto map = reader.read_map(0, {Site::pattern, 1}, 2);
  const auto pattern = testing::sample_pattern(1, 3, 7);
  for (std::size_t i = 0; i < 49; ++i) {
    EXPECT_EQ(map[i], testing::rounded_to(10, pattern[98 + i]));
  }
  const StoredAttention attention = reader.attention(0, Stack::self);
  EXPECT_EQ(attention.head_stats, (std::vector<std::string>{"entropy", "max"}));
  EXPECT_EQ(reader.read_table(0, Stack::self, AttentionTable::topk_index).shape,
            (std::vector<std::int64_t>{2, 3, 7, 7}));
  EXPECT_EQ(reader.find_prompt("p000001", "--prompt-id"), 1);
  EXPECT_EQ(reader.find_prompt("0", "--prompt-id"), 0);
  EXPECT_THROW(reader.find_prompt("2", "--prompt-id"), std::exception);
  EXPECT_THROW(reader.find_prompt("", "--prompt-id"), std::exception);
}

TEST(Reader, PackedAndPromptGroupsReadAlike) {
  const TempFolder folder;
  const SampleOptions groups{.lengths = {7, 20, 3}};
  SampleOptions packed = groups;
  packed.layout = FileLayout::packed;
  write_sample(folder.file("a.h5"), groups);
  write_sample(folder.file("b.h5"), packed);
  const CaptureReader a(folder.file("a.h5"));
  const CaptureReader b(folder.file("b.h5"));
  ASSERT_EQ(b.layout(), FileLayout::packed);
  ASSERT_EQ(b.prompts(), 3);
  for (int p = 0; p < 3; ++p) {
    EXPECT_EQ(a.prompt(p).text, b.prompt(p).text);
    EXPECT_EQ(a.prompt(p).label, b.prompt(p).label);
    EXPECT_EQ(a.prompt(p).tokens.ids, b.prompt(p).tokens.ids);
    EXPECT_EQ(a.prompt(p).tokens.text, b.prompt(p).tokens.text);
    EXPECT_EQ(a.prompt(p).tokens.char_offsets, b.prompt(p).tokens.char_offsets);
    auto columns_a = a.prompt(p).columns;
    auto columns_b = b.prompt(p).columns;
    std::sort(columns_a.begin(), columns_a.end());
    std::sort(columns_b.begin(), columns_b.end());
    EXPECT_EQ(columns_a, columns_b);
    EXPECT_EQ(a.hooks(p), b.hooks(p));
    for (const HookId hook : a.hooks(p)) {
      EXPECT_EQ(a.read(p, hook).data, b.read(p, hook).data) << hook_name(hook);
      EXPECT_EQ(a.read(p, hook).shape, b.read(p, hook).shape) << hook_name(hook);
    }
    EXPECT_EQ(a.read_table(p, Stack::self, AttentionTable::head_stats).data,
              b.read_table(p, Stack::self, AttentionTable::head_stats).data);
  }
}

TEST(Reader, PackedPositionsAreCompact) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  {
    CaptureWriter writer(path, testing::sample_file_info({}), testing::sample_model({}),
                         testing::sample_run(),
                         {.layout = FileLayout::packed,
                          .packed = {.prompts = 2, .tokens = 9, .token_text_bytes = 8, .rows = 3}});
    const std::vector<std::vector<std::int64_t>> positions{{1, 3}, {4}};
    float value = 0;
    for (int p = 0; p < 2; ++p) {
      const auto& kept = positions[static_cast<std::size_t>(p)];
      writer.add_prompt(testing::sample_prompt(p, p == 0 ? 4 : 5), kept);
      std::vector<float> rows(kept.size() * 2);
      for (float& v : rows) v = ++value;
      writer.write_site(
          p, {Site::resid_post, 0},
          contiguous_view(rows.data(), DType::f32, {static_cast<std::int64_t>(kept.size()), 2}),
          {.q_positions = kept});
      writer.write_site(
          p, {Site::k, 0},
          contiguous_view(rows.data(), DType::f32, {static_cast<std::int64_t>(kept.size()), 1, 2}),
          {.k_positions = kept});
    }
    writer.finish();
  }
  const CaptureReader reader(path);
  // Keys lie along k, whatever the layout.
  EXPECT_EQ(reader.site(1, {Site::k, 0})->subset.k_positions, (std::vector<std::int64_t>{4}));
  EXPECT_TRUE(reader.site(1, {Site::k, 0})->subset.q_positions.empty());
  EXPECT_EQ(reader.site(1, {Site::resid_post, 0})->subset.q_positions,
            (std::vector<std::int64_t>{4}));
  EXPECT_EQ(reader.read(1, {Site::resid_post, 0}).as_double(), (std::vector<double>{5, 6}));
  EXPECT_EQ(reader.read(0, {Site::resid_post, 0}).as_double(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Writer, SubsetsAndStridesAndDoubles) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  std::vector<double> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  {
    CaptureWriter writer(path, testing::sample_file_info({}), testing::sample_model({}),
                         testing::sample_run(), {});
    writer.add_prompt(testing::sample_prompt(0, 4));
    // Every second head of [q=4 h=3 d=2], seen through strides.
    TensorView view = contiguous_view(values.data(), DType::f64, {4, 3, 2});
    view.shape[1] = 2;
    view.strides[1] = 4;
    writer.write_site(0, {Site::z, 1}, view, {.heads = {0, 2}});
    writer.finish();
  }
  const CaptureReader reader(path);
  const auto site = reader.site(0, {Site::z, 1});
  ASSERT_TRUE(site);
  EXPECT_EQ(site->dtype, DType::f64);
  EXPECT_EQ(CaptureReader::head_slot(*site, 2), 1);
  EXPECT_EQ(CaptureReader::head_slot(*site, 1), std::nullopt);
  EXPECT_EQ(reader.read(0, {Site::z, 1}).as_double(),
            (std::vector<double>{0, 1, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 18, 19, 22, 23}));
}

TEST(Writer, LargeSubsetsFit) {
  // More positions than fit an HDF5 object header message of 64 KiB.
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  std::vector<std::int64_t> positions(20000);
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = static_cast<std::int64_t>(2 * i);
  const std::vector<float> values(positions.size(), 1.5F);
  {
    CaptureWriter writer(path, testing::sample_file_info({}), testing::sample_model({}),
                         testing::sample_run(), {});
    writer.add_prompt(testing::sample_prompt(0, 4));
    writer.write_site(0, {Site::resid_pre, 0},
                      contiguous_view(values.data(), DType::f32, {20000, 1}),
                      {.q_positions = positions});
    writer.finish();
  }
  EXPECT_EQ(CaptureReader(path).site(0, {Site::resid_pre, 0})->subset.q_positions, positions);
}

TEST(Writer, ADroppedWriterLeavesNoFile) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  {
    CaptureWriter writer(path, testing::sample_file_info({}), testing::sample_model({}),
                         testing::sample_run(), {});
    writer.add_prompt(testing::sample_prompt(0, 4));
  }
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(Writer, ColumnNamesThatCannotBeStoredAreRefused) {
  const TempFolder folder;
  CaptureWriter writer(folder.file("a.h5"), testing::sample_file_info({}),
                       testing::sample_model({}), testing::sample_run(), {});
  PromptRecord prompt = testing::sample_prompt(0, 4);
  prompt.columns = {{"a/b", std::string("x")}};
  EXPECT_THROW(writer.add_prompt(prompt), std::exception);
}

}  // namespace
}  // namespace attnscope
