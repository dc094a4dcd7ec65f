// A capture by the engine for GPUs, its kernels run on the host (tests/kernels/cuda_on_host.cpp),
// against the CPU's file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "capture_case.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

struct BothFiles {
  CaptureReader cpu, cuda;
};

BothFiles capture_both(const TempFolder& folder, CaptureSpec spec) {
  const auto run = [&](EngineChoice engine, const char* name) {
    spec.compute.engine = engine;
    spec.output.out = folder.file(std::string(name) + ".h5");
    const CaptureResult result = run_capture(spec);
    EXPECT_EQ(result.engine, name);
    return CaptureReader(result.path, {.trust = Trust::own});
  };
  return {run(EngineChoice::cpu_tiled, "cpu_tiled"), run(EngineChoice::cuda, "cuda")};
}

// Equal within `tolerance` of the largest value, or of 1; NaN where NaN.
void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  double largest = 1;
  for (const double value : a) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::isnan(a[i]), std::isnan(b[i])) << what << " " << i;
    if (std::isnan(a[i])) continue;
    ASSERT_NEAR(a[i], b[i], tolerance * largest) << what << " " << i;
  }
}

double tolerance_of(AttentionTable table) {
  return table == AttentionTable::overview ? 1.01 : 1e-5;  // a rounded byte
}

void expect_equal_tables(const BothFiles& files, int prompt) {
  for (const AttentionTable table :
       {AttentionTable::head_stats, AttentionTable::row_stats, AttentionTable::topk_index,
        AttentionTable::topk_value, AttentionTable::key_sum, AttentionTable::value_norm,
        AttentionTable::overview}) {
    const std::string name = attention_table_name(table);
    ASSERT_EQ(files.cpu.has_table(prompt, Stack::self, table),
              files.cuda.has_table(prompt, Stack::self, table))
        << name;
    if (!files.cpu.has_table(prompt, Stack::self, table)) continue;
    const Array a = files.cpu.read_table(prompt, Stack::self, table);
    const Array b = files.cuda.read_table(prompt, Stack::self, table);
    EXPECT_EQ(a.shape, b.shape) << name;
    EXPECT_EQ(a.dtype, b.dtype) << name;
    // Weights that are near to each other may change places.
    if (table == AttentionTable::topk_index) continue;
    expect_near(a.as_double(), b.as_double(), tolerance_of(table), name);
  }
}

void expect_equal_files(const BothFiles& files) {
  ASSERT_EQ(files.cpu.prompts(), files.cuda.prompts());
  for (int prompt = 0; prompt < files.cpu.prompts(); ++prompt) {
    const std::vector<HookId> hooks = files.cpu.hooks(prompt);
    EXPECT_EQ(hooks, files.cuda.hooks(prompt));
    for (const HookId hook : hooks) {
      const StoredSite a = *files.cpu.site(prompt, hook), b = *files.cuda.site(prompt, hook);
      EXPECT_EQ(a.path, b.path);
      EXPECT_EQ(a.shape, b.shape) << a.path;
      EXPECT_EQ(a.dtype, b.dtype) << a.path;
      EXPECT_EQ(a.subset.heads, b.subset.heads) << a.path;
      if (!a.map) {
        expect_near(files.cpu.read(prompt, hook).as_double(),
                    files.cuda.read(prompt, hook).as_double(), 1e-5, a.path);
        continue;
      }
      for (std::int64_t slot = 0; slot < a.shape[0]; ++slot) {
        const std::vector<float> x = files.cpu.read_map(prompt, hook, slot);
        const std::vector<float> y = files.cuda.read_map(prompt, hook, slot);
        // Rounded to 10 bits, so that a last bit before may be 2^-10 of the value after.
        expect_near({x.begin(), x.end()}, {y.begin(), y.end()}, 0x1p-10, a.path);
      }
    }
    expect_equal_tables(files, prompt);
  }
}

TEST(CudaCapture, FileEqualsThatOfTheCpu) {
  const TempFolder folder;
  const std::string prompts = folder.file("prompts.jsonl");
  write_id_prompts(prompts, {300, 7, 64, 64, 1}, 100);
  for (const char* model : {"families/llama", "models/tiny-random-gpt2"}) {
    CaptureSpec spec = spec_for(model, "");
    spec.prompts.prompts_file = prompts;
    spec.hooks = "pattern,z,resid_post";
    spec.beyond_context = std::string(model) == "families/llama";
    spec.output.force = true;
    expect_equal_files(capture_both(folder, spec));
  }
}

TEST(CudaCapture, ChosenHeadsAndPackedPrompts) {
  const TempFolder folder;
  const std::string prompts = folder.file("prompts.jsonl");
  write_id_prompts(prompts, {40, 9, 70, 33}, 100);
  CaptureSpec spec = spec_for("models/tiny-random-gpt2", "");
  spec.prompts.prompts_file = prompts;
  spec.hooks = "pattern,z";
  spec.heads = "0.1,1.*";
  expect_equal_files(capture_both(folder, spec));
  spec.output.force = true;
  spec.heads = "";
  spec.layout = LayoutChoice::packed;
  expect_equal_files(capture_both(folder, spec));
}

// The same capture twice: the same bytes.
TEST(CudaCapture, RepeatsItsBytes) {
  const TempFolder folder;
  CaptureSpec spec = spec_for("families/llama", folder.file("a.h5"));
  spec.prompts.prompts_file = folder.file("prompts.jsonl");
  write_id_prompts(spec.prompts.prompts_file, {30, 21}, 100);
  spec.compute.engine = EngineChoice::cuda;
  run_capture(spec);
  spec.output.out = folder.file("b.h5");
  run_capture(spec);
  EXPECT_EQ(bytes_of(folder.file("a.h5")), bytes_of(folder.file("b.h5")));
}

}  // namespace
}  // namespace attnscope::testing
