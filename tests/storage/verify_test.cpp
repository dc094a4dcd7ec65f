#include "attnscope/storage/verify.h"

#include <gtest/gtest.h>
#include <hdf5.h>

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
    for (const Finding& finding : verify_file(path).findings) out.push_back(describe(finding));
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
  for (int i = 0; i < 200; ++i) {
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
  group.require_readable_attributes();
  for (const std::string& name : group.names()) {
    if (group.is_group(name)) {
      out += seen(group.open_group(name));
      continue;
    }
    const h5::Dataset dataset = group.open_dataset(name);
    attributes(dataset);
    dataset.require_readable_attributes();
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
// With `lse`, the log-sum-exp of its two rows, in the statistics.
std::string with_map(const std::string& path, const std::vector<float>& values, MapSpec spec,
                     const std::vector<float>& lse = {}) {
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
  if (!lse.empty()) {
    const int table = writer.open_attention(0, {.layers = {0},
                                                .n_heads = {1},
                                                .queries = 2,
                                                .keys = 2,
                                                .top_k = 1,
                                                .head_stats = {"entropy"},
                                                .row_stats = {"lse"}});
    const std::vector<float> two{0.5F, 0.5F};
    const std::vector<float> one{0.5F};
    const std::vector<std::int32_t> index{0, 0};
    const std::vector<std::uint8_t> overview(4);
    writer.write_attention(table, 0, {one, lse, index, two, two, two, overview});
    writer.close_attention(table);
  }
  writer.finish();
  return path;
}

// A model may compute NaN; a file that says so in its statistics too is right.
TEST(Verify, NanRowsAreRightWhereTheStatisticsSaySo) {
  const TempFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const MapSpec pattern{.dtype = MapDType::f32};
  const MapSpec scores{.kind = MapKind::scores, .dtype = MapDType::f32, .row_sum = RowSum::free};
  for (const auto& [spec, values] : {std::pair{pattern, std::vector<float>{1, 0, nan, nan}},
                                     {scores, std::vector<float>{1, -inf, 2, nan}}}) {
    const std::string right = with_map(folder.file("right.h5"), values, spec, {0.1F, nan});
    const Verification accepted = verify_file(right);
    for (const Finding& finding : accepted.findings) ADD_FAILURE() << describe(finding);
    ASSERT_EQ(accepted.notes.size(), 2U);
    EXPECT_NE(accepted.notes[1].find("NaN values present: 1 row"), std::string::npos)
        << accepted.notes[1];
    const std::string wrong = with_map(folder.file("wrong.h5"), values, spec, {nan, 0.1F});
    const Verification refused = verify_file(wrong);
    ASSERT_EQ(refused.findings.size(), 1U);
    EXPECT_NE(refused.findings[0].what.find("value at [0,1,"), std::string::npos)
        << refused.findings[0].what;
    std::remove(right.c_str());
    std::remove(wrong.c_str());
  }
}

TEST(Verify, NanActivationsAreANote) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  {
    CaptureWriter writer(path, testing::sample_file_info({}), testing::sample_model({}),
                         testing::sample_run(), {});
    writer.add_prompt(testing::sample_prompt(0, 2));
    const std::vector<float> values{1, std::nanf(""), 3, std::nanf("")};
    writer.write_site(0, {Site::resid_pre, 0}, contiguous_view(values.data(), DType::f32, {2, 2}));
    writer.finish();
  }
  const Verification result = verify_file(path);
  EXPECT_TRUE(result.findings.empty());
  ASSERT_EQ(result.notes.size(), 2U);
  EXPECT_NE(result.notes[1].find("2 values of other sites"), std::string::npos) << result.notes[1];
}

TEST(Verify, SaysWhatItCouldNotCheck) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  write_sample(path, {.lengths = {3}});
  const auto only_note = [&] {
    const Verification result = verify_file(path);
    EXPECT_TRUE(result.findings.empty());
    return result.notes.size() == 1 ? result.notes[0] : "";
  };
  EXPECT_EQ(only_note().find("no a.json beside it: the file's own hash was not checked"), 0U);
  put(sidecar_path(path), "{}");
  EXPECT_EQ(only_note().find("a.json holds no hash: the file's own hash was not checked"), 0U);
  put(sidecar_path(path),
      "{\"" + std::string(kSidecarHashKey) + "\": \"" + sha256_of(content(path)) + "\"}");
  EXPECT_TRUE(verify_file(path).notes.empty());
}

// A copy of a sample file in which something was changed by `change`, with the checksums right.
class Changed {
 public:
  explicit Changed(const std::function<void(h5::Group&)>& change) {
    write_sample(folder_.file("a.h5"), {.lengths = {3, 300}});
    const h5::File from = h5::File::open(folder_.file("a.h5"));
    h5::File to = h5::File::create(path());
    h5::Group root = to.root();
    const h5::Group source = from.root();
    for (const char* text : {"schema", "kind", "run_id", "tool_version", "git_commit", "layout"}) {
      root.set_text(text, *source.text(text));
    }
    root.set_integers("schema_version", source.integers("schema_version"));
    for (const char* group : {"model", "run", "prompts"}) root.copy(source, group, group);
    change(root);
    to.close();
  }
  std::string path() const { return folder_.file("b.h5"); }

 private:
  TempFolder folder_;
};

TEST(Verify, FindsAttributesOutOfRange) {
  const std::string cache = "prompts/p000001/cache/blocks.0.";
  const std::string pattern = cache + "attn.hook_pattern";
  const std::vector<std::int64_t> two{0, 1};
  const std::vector<std::int64_t> falling{2, 1, 0};
  struct Case {
    std::string dataset;
    std::string finding;  // empty = none
    std::function<void(h5::Object&)> change;
  };
  const std::vector<Case> cases{
      {pattern, "", [](h5::Object&) {}},
      {pattern, "attribute causal", [](h5::Object& o) { o.set_integer("causal", 2); }},
      {pattern, "attribute window", [](h5::Object& o) { o.set_integer("window", -1); }},
      {pattern, "attribute map_dtype", [](h5::Object& o) { o.set_text("map_dtype", "r11"); }},
      {pattern, "attribute floor", [](h5::Object& o) { o.set_number("floor", 0.5); }},
      {pattern, "attribute row_sum", [](h5::Object& o) { o.set_text("row_sum", "two"); }},
      {pattern, "attribute layer", [](h5::Object& o) { o.set_integer("layer", 1); }},
      {pattern, "attribute layer", [](h5::Object& o) { o.set_integer("layer", 99); }},
      {pattern, "attribute site", [](h5::Object& o) { o.set_text("site", "attn.hook_z"); }},
      {pattern, "attribute heads", [&](h5::Object& o) { o.set_integers("heads", falling); }},
      {pattern, "",
       [](h5::Object& o) {
         o.set_integers("heads", std::vector<std::int64_t>{0, 1, 2});
       }},
      {cache + "attn.hook_z", "attribute q_positions",
       [&](h5::Object& o) { o.set_integers("q_positions", two); }},
      {cache + "attn.hook_z", "attribute k_positions",
       [&](h5::Object& o) { o.set_integers("k_positions", two); }},
      {cache + "attn.hook_z", "attribute dims", [](h5::Object& o) { o.set_text("dims", "k h d"); }},
      {"prompts/p000000/tokens/ids", "attribute layer",
       [](h5::Object& o) { o.set_integer("layer", -2); }},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Changed file([&](h5::Group& root) {
      h5::Dataset dataset = root.open_dataset(cases[i].dataset);
      cases[i].change(dataset);
    });
    const auto found = complaints(file.path());
    if (cases[i].finding.empty()) {
      EXPECT_TRUE(found.empty()) << i << ": " << found.at(0);
      continue;
    }
    ASSERT_FALSE(found.empty()) << i << ": " << cases[i].finding;
    bool met = false;
    for (const std::string& text : found) met |= text.find(cases[i].finding) != std::string::npos;
    EXPECT_TRUE(met) << i << ": " << found[0];
  }
}

// Written through the library itself: the writer refuses to leave a tile out.
TEST(Verify, FindsATileThatIsNotStored) {
  for (const char* site : {"hook_pattern", "hook_attn_scores"}) {
    const std::string name = std::string("blocks.0.attn.") + site;
    const Changed file([&](h5::Group& root) {
      h5::Group cache = root.open_group("prompts/p000001/cache");
      const h5::Dataset whole = cache.open_dataset(name);
      h5::Dataset part = cache.create_dataset("part", {.type = whole.type(),
                                                       .dims = whole.dims(),
                                                       .chunk = whole.chunk(),
                                                       .filters = h5::Filters::shuffle_deflate,
                                                       .fill = h5::Fill::zero});
      int tiles = 0;
      whole.for_each_stored_part([&](const h5::StoredPart& tile) {
        if (++tiles != 2) part.write_chunk(tile.at, tile.filter_mask, tile.bytes);
      });
      EXPECT_GT(tiles, 6);
      for (const char* text : {"site", "dims", "map_dtype", "row_sum"}) {
        part.set_text(text, *whole.text(text));
      }
      for (const char* integer : {"layer", "causal", "window"}) {
        part.set_integer(integer, *whole.integer(integer));
      }
      part.set_number("floor", 0);
      part.set_labels(whole.labels());
      part.set_text("sha256", part.sha256());
      ASSERT_GE(H5Ldelete(cache.id(), name.c_str(), H5P_DEFAULT), 0);
      ASSERT_GE(H5Lmove(cache.id(), "part", cache.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), 0);
    });
    const auto found = complaints(file.path());
    ASSERT_FALSE(found.empty()) << site;
    EXPECT_NE(found[0].find("a tile is not stored"), std::string::npos) << found[0];
  }
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
