#include "attnscope/render/capture_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attnscope/storage/codec.h"
#include "attnscope/storage/writer.h"
#include "attnscope/support/error.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kTokens = 3;

// Weights of head h: row q puts 0.5 on key h (if it may) and the rest on itself.
std::vector<float> pattern(int heads) {
  std::vector<float> values;
  for (int h = 0; h < heads; ++h) {
    for (int q = 0; q < kTokens; ++q) {
      for (int k = 0; k < kTokens; ++k) {
        const float on_h = h < q && k == h ? 0.5F : 0;
        values.push_back(k == q ? (h < q ? 0.5F : 1) : on_h);
      }
    }
  }
  return values;
}

PromptRecord prompt(const std::string& text) {
  PromptRecord record;
  record.text = text;
  record.tokens.ids = {0, 5, 9};
  record.tokens.text = {"<s>", " a", "b"};
  record.tokens.bytes = record.tokens.text;
  record.tokens.char_offsets = {{-1, -1}, {0, 2}, {2, 3}};
  return record;
}

// Layer 0 keeps both heads, layer 2 head 1 only, layer 1 nothing. Two prompts.
void write_file(const std::string& path) {
  ModelInfo model;
  model.name = "tiny";
  model.family = "custom";
  model.sizes = {{"n_layers", 3}, {"n_heads", 2}};
  CaptureWriter writer(path, {.run_id = "r"}, model, {}, {});
  ChunkCompressor compressor;
  for (int p = 0; p < 2; ++p) {
    const int id = writer.add_prompt(prompt(p == 0 ? "a\nb" : "second"));
    for (const int layer : {0, 2}) {
      MapSpec spec{.heads = layer == 0 ? 2 : 1, .queries = kTokens, .keys = kTokens};
      spec.causal = true;
      if (layer == 2) spec.subset.heads = {1};
      const std::vector<float> values = pattern(static_cast<int>(spec.heads));
      const int map = writer.open_map(id, {Site::pattern, layer}, spec);
      for (const Tile& tile : TileGrid(spec).tiles()) {
        writer.write_tile(map, tile,
                          compressor.compress_tile({.data = values.data(),
                                                    .heads = tile.heads,
                                                    .queries = tile.queries,
                                                    .keys = tile.keys,
                                                    .head_stride = kTokens * kTokens,
                                                    .query_stride = kTokens},
                                                   TileGrid(spec).target()));
      }
      writer.close_map(map);
    }
    const int attention = writer.open_attention(id, {.layers = {0, 2},
                                                     .n_heads = {2, 2},
                                                     .queries = kTokens,
                                                     .keys = kTokens,
                                                     .top_k = 1,
                                                     .head_stats = {"entropy", "induction"},
                                                     .detail = AttentionDetail::head_stats});
    // Induction of 2.0 is defined on the second prompt only, that of 2.1 on none.
    const std::vector<float> first = {1, 0.25F, 2, 0.5F};
    const std::vector<float> second = {3, p == 0 ? kNan : 0.75F, 4, kNan};
    writer.write_attention(attention, 0, {.head_stats = first});
    writer.write_attention(attention, 1, {.head_stats = second});
    writer.close_attention(attention);
  }
  writer.finish();
}

class CaptureView : public ::testing::Test {
 protected:
  CaptureView() { write_file(folder_.file("run.h5")); }
  CaptureReader open() const {
    return CaptureReader(folder_.file("run.h5"), {.trust = Trust::own});
  }
  testing::TempFolder folder_;
};

TEST_F(CaptureView, HeadMapHasValuesTokensAndCaption) {
  const CaptureReader file = open();
  const HeatMap map = head_map(file, 0, {.layer = 0, .head = 1}, Site::pattern);
  EXPECT_EQ(map.rows, kTokens);
  EXPECT_EQ(map.at(2, 1), 0.5F);
  EXPECT_EQ(map.at(1, 1), 1);
  EXPECT_EQ(map.at(0, 2), 0);
  EXPECT_TRUE(map.is_hidden(0, 2));
  EXPECT_EQ(map.row_labels, (std::vector<std::string>{"<s>", " a", "b"}));
  EXPECT_EQ(map.column_labels, map.row_labels);
  EXPECT_EQ(map.title, "head 0.1");
  EXPECT_EQ(map.caption, (std::vector<std::string>{"model: tiny (custom)", "prompt p000000: a b",
                                                   "hook: blocks.0.attn.hook_pattern"}));
  EXPECT_EQ(map.drawn_scale().high, 1);
}

TEST_F(CaptureView, SubsetsOfHeadsAreFoundByTheirNumber) {
  const CaptureReader file = open();
  EXPECT_FALSE(has_head_map(file, 0, {.layer = 2, .head = 0}, Site::pattern));
  EXPECT_TRUE(has_head_map(file, 0, {.layer = 2, .head = 1}, Site::pattern));
  EXPECT_FALSE(has_head_map(file, 0, {.layer = 1, .head = 0}, Site::pattern));
  // The one stored head holds the values of pattern(1)'s head 0.
  EXPECT_EQ(head_map(file, 1, {.layer = 2, .head = 1}, Site::pattern).at(1, 0), 0.5F);
}

TEST_F(CaptureView, MissingMapSaysWhatThereIs) {
  const CaptureReader file = open();
  try {
    head_map(file, 0, {.layer = 1, .head = 0}, Site::pattern);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "RN04");
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_NE(std::string(error.what()).find("got pattern of 0.0, 0.1, 2.1"), std::string::npos);
  }
}

TEST_F(CaptureView, GridsKeepLayersInTheirRows) {
  const std::vector<HeadId> heads = {{0, 0}, {0, 1}, {2, 1}};
  const HeatMapGrid grid = head_maps(open(), 0, heads, Site::pattern);
  EXPECT_EQ(grid.columns, 2);
  ASSERT_EQ(grid.maps.size(), 4U);
  EXPECT_EQ(grid.maps[2].title, "head 2.1");
  EXPECT_TRUE(grid.is_blank(3));
}

TEST_F(CaptureView, StatisticsOfOnePromptAndTheirMean) {
  const CaptureReader file = open();
  const HeadGrid first = head_grid(file, 0, Stack::self, "induction");
  EXPECT_EQ(first.layers, (std::vector<int>{0, 2}));
  EXPECT_EQ(first.values[1], 0.5F);
  EXPECT_TRUE(std::isnan(first.values[2]));
  const HeadGrid mean = head_grid(file, -1, Stack::self, "induction");
  EXPECT_EQ(mean.values[0], 0.25F);
  EXPECT_EQ(mean.values[2], 0.75F);
  EXPECT_TRUE(std::isnan(mean.values[3]));
  EXPECT_EQ(head_grid(file, -1, Stack::self, "entropy").values[3], 4);
}

TEST_F(CaptureView, UnknownStatisticNamesTheNearest) {
  try {
    head_grid(open(), 0, Stack::self, "induktion");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "RN05");
    EXPECT_NE(std::string(error.what()).find("did you mean induction"), std::string::npos);
  }
}

}  // namespace
}  // namespace attnscope
