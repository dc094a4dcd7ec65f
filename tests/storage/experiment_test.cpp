// Records of experiments: what is read back is what was written, and what h5py and verify see.
#include "attnscope/storage/experiment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/error.h"
#include "storage/outside_readers.h"
#include "storage/sample.h"
#include "storage/sample_experiment.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::sample_experiment;
using testing::TempFolder;
using testing::write_experiments;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// NaN equals NaN.
bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

template <typename Named>
void expect_same_arrays(const std::vector<Named>& want, const std::vector<Named>& got) {
  ASSERT_EQ(want.size(), got.size());
  for (const Named& array : want) {
    const auto found = std::find_if(got.begin(), got.end(),
                                    [&](const Named& other) { return other.name == array.name; });
    ASSERT_NE(found, got.end()) << array.name;
    EXPECT_EQ(found->dims, array.dims) << array.name;
    EXPECT_EQ(found->shape, array.shape) << array.name;
    ASSERT_EQ(found->values.size(), array.values.size()) << array.name;
    for (std::size_t i = 0; i < array.values.size(); ++i) {
      if constexpr (std::is_same_v<Named, NamedArray>) {
        EXPECT_TRUE(same(found->values[i], array.values[i])) << array.name << " " << i;
      } else {
        EXPECT_EQ(found->values[i], array.values[i]) << array.name << " " << i;
      }
    }
  }
}

void expect_same_record(const ExperimentRecord& want, const ExperimentRecord& got) {
  EXPECT_EQ(got.name, want.name);
  EXPECT_EQ(got.kind, want.kind);
  EXPECT_EQ(got.metric, want.metric);
  EXPECT_EQ(got.noise_floor, want.noise_floor);
  EXPECT_EQ(got.spec_json, want.spec_json);
  EXPECT_EQ(got.attributes, want.attributes);
  expect_same_arrays(want.arrays, got.arrays);
  expect_same_arrays(want.integers, got.integers);
  expect_same_arrays(want.texts, got.texts);
}

std::vector<std::string> dims_in_file(const std::string& path, const std::string& dataset) {
  return h5::File::open(path).root().open_dataset(dataset).labels();
}

TEST(Experiment, GridsAreStoredAsGridsAndReadAsCells) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  struct Case {
    testing::CellShape shape;
    std::vector<std::string> effect;
  };
  const std::vector<std::string> list{"method", "cell"};
  for (const Case& c :
       {Case{testing::CellShape::layer_head, {"method", "layer", "head"}},
        Case{testing::CellShape::layer_position, {"method", "layer", "position"}},
        Case{testing::CellShape::layer_head_position, {"method", "layer", "head", "position"}},
        Case{testing::CellShape::layers, list}, Case{testing::CellShape::ragged, list},
        Case{testing::CellShape::shuffled, list}}) {
    const ExperimentRecord record = sample_experiment("ablate", c.shape);
    write_experiments(path, {record});
    EXPECT_EQ(dims_in_file(path, "experiments/ablate/effect"), c.effect);
    const auto got = CaptureReader(path).experiments();
    ASSERT_EQ(got.size(), 1U);
    expect_same_record(record, got[0]);
    for (const Finding& finding : verify_file(path).findings) ADD_FAILURE() << describe(finding);
    std::remove(path.c_str());
  }
}

// The grid is row-major: an independent count over layers and heads.
TEST(Experiment, AGridHoldsEachCellAtItsLayerAndHead) {
  const ExperimentRecord record = sample_experiment("ablate", testing::CellShape::layer_head);
  const ExperimentRecord grid = grid_of_cells(record);
  const NamedArray* effect = grid.array("effect");
  ASSERT_EQ(effect->shape, (std::vector<std::int64_t>{2, 3, 4}));
  const NamedIntegers* layers = record.integer("layers");
  const NamedIntegers* heads = record.integer("heads");
  for (std::size_t cell = 0; cell < 12; ++cell) {
    const auto layer = static_cast<std::size_t>(layers->values[cell] - 2);  // layers 2, 3, 4
    const auto head = static_cast<std::size_t>(heads->values[cell]);
    for (std::size_t method = 0; method < 2; ++method) {
      EXPECT_TRUE(same(effect->values[(method * 3 + layer) * 4 + head],
                       record.array("effect")->values[method * 12 + cell]));
    }
  }
  EXPECT_EQ(grid.integer("layers")->values, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(grid.integer("positions"), nullptr);
  expect_same_record(record, cells_of_grid(grid));
}

TEST(Experiment, SeveralRecordsAndNestedNamesLieSideBySide) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  ExperimentRecord lens{.name = "lens/p000001", .kind = "lens", .metric = "kl"};
  lens.arrays = {{"kl", {"layer", "position"}, {2, 3}, {0, 1, kNan, 3, 4, 5}}};
  lens.texts = {{"sentence", {}, {}, {std::string(3000, 'x')}}};
  ExperimentRecord empty{.name = "lens", .kind = "lens", .metric = "kl"};
  empty.arrays = {{"none", {"cell"}, {0}, {}}};
  write_experiments(path, {empty, lens, sample_experiment("ablate", testing::CellShape::layers)});
  const auto got = CaptureReader(path).experiments();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].name, "ablate");
  expect_same_record(empty, got[1]);
  expect_same_record(lens, got[2]);
  for (const Finding& finding : verify_file(path).findings) ADD_FAILURE() << describe(finding);
}

TEST(Experiment, EqualRecordsGiveEqualBytes) {
  const TempFolder folder;
  for (const char* name : {"a.h5", "b.h5"}) {
    write_experiments(folder.file(name),
                      {sample_experiment("verdict", testing::CellShape::layer_head)}, 70);
  }
  EXPECT_EQ(testing::file_bytes(folder.file("a.h5")), testing::file_bytes(folder.file("b.h5")));
  EXPECT_EQ(CaptureReader(folder.file("a.h5")).layout(), FileLayout::packed);
  EXPECT_EQ(CaptureReader(folder.file("a.h5")).prompts(), 70);
}

TEST(Experiment, WhatCannotBeStoredIsOurBug) {
  const TempFolder folder;
  const auto refused = [&](const ExperimentRecord& record) {
    try {
      write_experiments(folder.file("a.h5"), {record});
    } catch (const Error& error) {
      return error.kind() == ErrorKind::internal;
    }
    return false;
  };
  ExperimentRecord record{.name = "a", .kind = "ablate"};
  record.arrays = {{"effect", {"cell"}, {3}, {1, 2}}};
  EXPECT_TRUE(refused(record));
  record.arrays = {{"effect", {"method", "cell"}, {2}, {1, 2}}};
  EXPECT_TRUE(refused(record));
  record.arrays = {{"../effect", {"cell"}, {2}, {1, 2}}};
  EXPECT_TRUE(refused(record));
  record.arrays.clear();
  record.attributes["long"] = std::string(257, 'x');
  EXPECT_TRUE(refused(record));
  record.attributes.clear();
  record.name = "a//b";
  EXPECT_TRUE(refused(record));
}

TEST(Experiment, OtherProgramsReadTheGrid) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  const ExperimentRecord record = sample_experiment("ablate", testing::CellShape::layer_head);
  write_experiments(path, {record});
  const auto bytes = [](const auto& values) {
    std::vector<std::byte> out(values.size() * sizeof(values[0]));
    std::memcpy(out.data(), values.data(), out.size());
    return out;
  };
  const std::vector<std::int64_t> layers{2, 3, 4};
  std::vector<std::int8_t> verdict;
  for (const std::int64_t level : record.integer("verdict")->values) {
    verdict.push_back(static_cast<std::int8_t>(level));
  }
  const std::vector<testing::Expected> expected{
      {"/experiments/ablate/effect", "<f8", {2, 3, 4}, bytes(record.array("effect")->values)},
      {"/experiments/ablate/n", "<i8", {2, 3, 4}, bytes(record.integer("n")->values)},
      {"/experiments/ablate/layers", "<i8", {3}, bytes(layers)},
      {"/experiments/ablate/verdict", "|i1", {3, 4}, bytes(verdict)}};
  testing::expect_h5py_equal(path, expected, folder.path());
  testing::expect_h5dump_equal(path, expected, folder.path());
}

// A dataset that claims terabytes and stores nothing.
TEST(Experiment, ArraysThatAreTooLargeAreRefusedUnread) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  {
    h5::File file = h5::File::create(path);
    h5::Group root = file.root();
    root.set_text("schema", kSchemaName);
    root.set_integers("schema_version", kSchemaVersion);
    root.set_text("kind", "ablate");
    h5::Group group = root.require_group("experiments/ablate");
    group.set_text("kind", "ablate");
    h5::Dataset effect = group.create_dataset("effect", {.type = h5::Type::of(h5::Scalar::f64),
                                                         .dims = {1U << 20U, 1U << 20U},
                                                         .chunk = {1, 1024},
                                                         .filters = h5::Filters::shuffle_deflate});
    effect.set_labels(std::vector<std::string>{"method", "cell"});
  }
  try {
    CaptureReader(path).experiments();
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4) << error.what();
  }
}

// Every rule of verify, broken once.
TEST(Experiment, VerifyFindsWhatCannotBe) {
  struct Fault {
    const char* what;
    void (*change)(ExperimentRecord&);
    const char* named;
  };
  const auto array = [](ExperimentRecord& record, const char* name) -> NamedArray& {
    return const_cast<NamedArray&>(*record.array(name));
  };
  static const auto set = array;
  const Fault faults[] = {
      {"interval below its effect",
       [](ExperimentRecord& r) { set(r, "ci_high").values[3] = r.array("effect")->values[3] - 1; },
       "ci_high"},
      {"interval above its effect",
       [](ExperimentRecord& r) { set(r, "ci_low").values[3] = r.array("effect")->values[3] + 1; },
       "ci_low"},
      {"p above 1", [](ExperimentRecord& r) { set(r, "p").values[0] = 1.5; }, "p"},
      {"p below 0", [](ExperimentRecord& r) { set(r, "p").values[0] = -0.1; }, "p"},
      {"adjusted p smaller",
       [](ExperimentRecord& r) {
         set(r, "p").values[1] = 0.5;
         set(r, "p_adjusted").values[1] = 0.4;
       },
       "p_adjusted"},
      {"infinite effect",
       [](ExperimentRecord& r) {
         set(r, "effect").values[2] = std::numeric_limits<double>::infinity();
       },
       "effect"},
      {"negative n",
       [](ExperimentRecord& r) { const_cast<NamedIntegers*>(r.integer("n"))->values[0] = -1; },
       "/n"},
      {"unknown verdict",
       [](ExperimentRecord& r) { const_cast<NamedIntegers*>(r.integer("verdict"))->values[0] = 7; },
       "verdict"},
      {"a method too few",
       [](ExperimentRecord& r) {
         auto& methods = const_cast<NamedTexts&>(*r.text("methods"));
         methods.shape = {1};
         methods.values.pop_back();
       },
       "method"},
      {"unknown kind", [](ExperimentRecord& r) { r.kind = "guess"; }, "kind"},
      {"negative noise floor", [](ExperimentRecord& r) { r.noise_floor = -1; }, "noise_floor"},
  };
  const TempFolder folder;
  for (const Fault& fault : faults) {
    for (const auto shape : {testing::CellShape::layer_head, testing::CellShape::ragged}) {
      ExperimentRecord record = sample_experiment("ablate", shape);
      fault.change(record);
      const std::string path = folder.file("a.h5");
      write_experiments(path, {record});
      const auto findings = verify_file(path).findings;
      ASSERT_FALSE(findings.empty()) << fault.what;
      EXPECT_NE(describe(findings[0]).find(fault.named), std::string::npos)
          << fault.what << ": " << describe(findings[0]);
      std::remove(path.c_str());
    }
  }
}

}  // namespace
}  // namespace attnscope
