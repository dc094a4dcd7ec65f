// Weights from files and memory: types, ties, checks, limits.
#include <gtest/gtest.h>

#include <limits>

#include "attnscope/checkpoint/memory_source.h"
#include "attnscope/support/error.h"
#include "attnscope/support/free_memory.h"
#include "recorder.h"
#include "testing/fixtures.h"
#include "tiny_model.h"
#include "weight_reader.h"

namespace attnscope::testing {
namespace {

// A source that says it holds another type than its bytes were made for.
class RawSource final : public TensorSource {
 public:
  RawSource(DType dtype, const at::Tensor& values) : values_(values.contiguous()) {
    tensors_.push_back({.name = "x",
                        .dtype = dtype,
                        .shape = values.sizes().vec(),
                        .bytes = static_cast<std::uint64_t>(values_.nbytes())});
  }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const TensorInfo* find(const std::string&) const override { return tensors_.data(); }
  void read_part(const TensorInfo&, std::uint64_t offset, void* out,
                 std::uint64_t bytes) const override {
    std::memcpy(out, static_cast<const char*>(values_.const_data_ptr()) + offset, bytes);
  }

 private:
  at::Tensor values_;
  std::vector<TensorInfo> tensors_;
};

// More values than one block of the conversion.
TEST(WeightReader, ConvertsEveryPairOfTypes) {
  const at::Tensor values =
      at::linspace(-3, 3, 40000, at::TensorOptions(at::kDouble)).view({200, 200});
  const std::vector<std::pair<DType, at::ScalarType>> types = {{DType::f16, at::kHalf},
                                                               {DType::bf16, at::kBFloat16},
                                                               {DType::f32, at::kFloat},
                                                               {DType::f64, at::kDouble}};
  for (const auto& [stored, stored_type] : types) {
    const RawSource source(stored, values.to(stored_type));
    for (const auto& [run, run_type] : types) {
      std::vector<ReadTask> tasks = {
          {source.find("x"), at::zeros({200, 200}, at::TensorOptions(run_type)), {}}};
      const auto found = read_tensors(source, tasks, 2);
      EXPECT_FALSE(found[0].has_value());
      EXPECT_TRUE(at::equal(tasks[0].place, values.to(stored_type).to(run_type)))
          << dtype_name(stored) << " → " << dtype_name(run);
    }
  }
}

TEST(WeightReader, PermutesAxes) {
  const at::Tensor values = at::arange(24, at::TensorOptions(at::kFloat)).view({2, 3, 4});
  const RawSource source(DType::f32, values);
  std::vector<ReadTask> tasks = {
      {source.find("x"), at::zeros({2, 4, 3}, at::TensorOptions(at::kFloat)), {0, 2, 1}}};
  read_tensors(source, tasks, 1);
  EXPECT_TRUE(at::equal(tasks[0].place, values.transpose(1, 2)));
}

TEST(WeightReader, FindsTheFirstNonFiniteValue) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    at::Tensor values = at::zeros({40000}, at::TensorOptions(type));
    EXPECT_FALSE(first_non_finite(values).has_value());
    values[39999] = std::numeric_limits<double>::infinity();
    EXPECT_EQ(first_non_finite(values).value(), 39999);
    values[17000] = std::nan("");
    EXPECT_EQ(first_non_finite(values).value(), 17000);
  }
}

Checkpoint tiny_with(double odd_value) {
  return tiny_checkpoint(tiny_config({}),
                         [=](Role role, int layer, std::int64_t rows, std::int64_t cols) {
                           std::vector<double> values = random_values(role, layer, rows, cols);
                           if (role == Role::o_weight) values[3] = odd_value;
                           return values;
                         });
}

TEST(Loading, NonFiniteWeightsAreNamedAndRefusedWhenStrict) {
  const Checkpoint checkpoint = tiny_with(std::nan(""));
  Warnings warnings;
  const Model model = Model::load(checkpoint, {.dtype = DType::f64}, warnings);
  ASSERT_EQ(warnings.lines().size(), 1u);
  EXPECT_NE(warnings.lines()[0].find("\"0.o\""), std::string::npos);
  EXPECT_NE(warnings.lines()[0].find("[1,1]"), std::string::npos) << warnings.lines()[0];
  const RunResult result = model.run(make_batch({{.ids = {0, 1}}}), {}, {});
  EXPECT_GT(result.non_finite_outputs, 0);
  EXPECT_THROW(Model::load(checkpoint, {.strictness = Strictness::strict}, warnings), Error);
}

TEST(Loading, FiniteWeightsGiveNoWarning) {
  Warnings warnings;
  Model::load(tiny_with(1), {}, warnings);
  EXPECT_TRUE(warnings.lines().empty());
}

TEST(Loading, ATwinThatDiffersIsAnError) {
  ModelConfig config = tiny_config({});
  Checkpoint checkpoint = tiny_checkpoint(config, random_values);
  auto weights = std::make_shared<MemoryTensorSource>(
      dynamic_cast<const MemoryTensorSource&>(*checkpoint.tensors));
  weights->add("same", {3, 2}, random_values(Role::token_embedding, -1, 3, 2));
  weights->add("other", {3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6});
  checkpoint.tensors = weights;
  Warnings warnings;
  checkpoint.map.twins = {{.name = "same", .same_as = "embed"}};
  EXPECT_NO_THROW(Model::load(checkpoint, {}, warnings));
  checkpoint.map.twins = {{.name = "other", .same_as = "embed"}};
  EXPECT_THROW(Model::load(checkpoint, {}, warnings), Error);
}

TEST(Loading, TiedHeadsShareTheEmbeddingsMemory) {
  for (const std::string family : {"gpt2", "qwen2", "gemma2"}) {
    const Model model = fixture_model(family, DType::f32);
    EXPECT_EQ(model.weight(Role::head_weight).const_data_ptr(),
              model.weight(Role::token_embedding).const_data_ptr())
        << family;
  }
  const Model untied = fixture_model("llama", DType::f32);
  EXPECT_NE(untied.weight(Role::head_weight).const_data_ptr(),
            untied.weight(Role::token_embedding).const_data_ptr());
}

// z·W_O per head and x·W_Q with the weights that weight() gives must be what the run computes.
TEST(Loading, WeightsByRoleAreThoseOfTheRun) {
  for (const std::string& family : fixture_families()) {
    const Model model = fixture_model(family);
    Recorder recorder;
    Taps taps;
    taps.observers = {&recorder};
    model.run(make_batch({sample_row(5)}), taps, {});
    const ModelConfig& config = model.config();
    const bool post = config.placement == NormPlacement::post;
    at::Tensor x = recorder.value({post ? Site::resid_pre : Site::ln1_normalized, 0});
    if (!post) {
      x = x * (model.weight(Role::ln1_weight, 0) + config.norm_weight_offset);
      const at::Tensor bias = model.weight(Role::ln1_bias, 0);
      if (bias.defined()) x = x + bias;
    }
    const auto projected = [&](Role weight, Role bias) {
      at::Tensor y = at::matmul(x, model.weight(weight, 0).t());
      const at::Tensor b = model.weight(bias, 0);
      return b.defined() ? y + b : y;
    };
    EXPECT_LT(largest_difference(projected(Role::q_weight, Role::q_bias),
                                 recorder.value({Site::q, 0}).flatten(2)),
              1e-12)
        << family;
    EXPECT_LT(largest_difference(projected(Role::k_weight, Role::k_bias),
                                 recorder.value({Site::k, 0}).flatten(2)),
              1e-12)
        << family;
    EXPECT_LT(largest_difference(projected(Role::v_weight, Role::v_bias),
                                 recorder.value({Site::v, 0}).flatten(2)),
              1e-12)
        << family;
  }
}

TEST(Loading, WeightsThatDoNotFitAreRefusedWithBothFigures) {
  const auto free = free_memory();
  if (!free) GTEST_SKIP() << "this system does not tell how much memory is free";
  EXPECT_NO_THROW(expect_within(free, {.bytes = free->bytes / 2, .what = "the weights"}));
  try {
    expect_within(free, {.bytes = std::uint64_t{900} << 30, .what = "the weights", .where = "m"});
    FAIL() << "900 GiB fit";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
    EXPECT_NE(std::string(error.what()).find("900 GiB"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(free->source), std::string::npos);
  }
}

// A file that is cut or replaced while it is read: the error of a reader thread reaches the caller.
TEST(Loading, AReadThatFailsIsTheCallersError) {
  class FailingSource final : public TensorSource {
   public:
    explicit FailingSource(std::shared_ptr<const TensorSource> source)
        : source_(std::move(source)) {}
    const std::vector<TensorInfo>& tensors() const override { return source_->tensors(); }
    const TensorInfo* find(const std::string& name) const override { return source_->find(name); }
    void read_part(const TensorInfo& tensor, std::uint64_t, void*, std::uint64_t) const override {
      throw Error(ErrorKind::input, "ST22", {.where = tensor.name, .what = "short read"});
    }

   private:
    std::shared_ptr<const TensorSource> source_;
  };
  Checkpoint checkpoint = tiny_checkpoint(tiny_config({}), random_values);
  checkpoint.tensors = std::make_shared<FailingSource>(checkpoint.tensors);
  Warnings warnings;
  try {
    Model::load(checkpoint, {.reader_threads = 2}, warnings);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "ST22");
  }
}

TEST(Loading, ATensorThatIsNotThereIsNamed) {
  Checkpoint checkpoint = tiny_checkpoint(tiny_config({}), random_values);
  checkpoint.map.bindings.back().name = "elsewhere";
  Warnings warnings;
  try {
    Model::load(checkpoint, {}, warnings);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"elsewhere\""), std::string::npos);
  }
}

}  // namespace
}  // namespace attnscope::testing
