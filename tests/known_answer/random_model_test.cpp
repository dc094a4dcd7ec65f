// The negative control has the shape of its original and nothing else.
#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/probes/random_model.h"
#include "known_run.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

class RandomModels : public ::testing::TestWithParam<std::string> {
 protected:
  Checkpoint original() const {
    Warnings warnings;
    return open_checkpoint(fixture("families/" + GetParam()), {}, warnings);
  }
};

Model load(const Checkpoint& checkpoint) {
  Warnings warnings;
  return Model::load(checkpoint, {}, warnings);
}

at::Tensor output_of(const Model& model) {
  const RunResult result = model.run(make_batch({{.ids = {5, 9, 17, 30, 41}}}), {}, {});
  return result.logits.defined() ? result.logits : result.hidden;
}

TEST_P(RandomModels, RunAndSayNothingOfTheOriginal) {
  const Model like = load(original());
  const Model one = load(random_model(original(), 1));
  const Model again = load(random_model(original(), 1));
  const Model two = load(random_model(original(), 2));
  ASSERT_EQ(output_of(one).sizes(), output_of(like).sizes());
  EXPECT_TRUE(at::isfinite(output_of(one)).all().item<bool>());
  EXPECT_TRUE(at::equal(output_of(one), output_of(again)));
  EXPECT_FALSE(at::equal(output_of(one), output_of(two)));
  EXPECT_FALSE(at::equal(output_of(one), output_of(like)));
  EXPECT_EQ(one.weight_bytes(), like.weight_bytes());
}

// Mean 0, variance 1 / fan-in, fourth moment 3, and no two tensors or neighbours alike.
TEST_P(RandomModels, WeightsAreNormal) {
  const Model model = load(random_model(original(), 7));
  at::Tensor all = at::empty({0});
  for (const Role role :
       {Role::token_embedding, Role::q_weight, Role::o_weight, Role::mlp_out_weight}) {
    const at::Tensor weight = model.weight(role, role == Role::token_embedding ? -1 : 0);
    all = at::cat({all, weight.flatten() * std::sqrt(static_cast<double>(weight.size(1)))});
  }
  const auto n = static_cast<double>(all.numel());
  EXPECT_NEAR(all.mean().item<double>(), 0, 4 / std::sqrt(n));
  EXPECT_NEAR(all.square().mean().item<double>(), 1, 4 * std::sqrt(2 / n));
  EXPECT_NEAR(all.pow(4).mean().item<double>(), 3, 4 * std::sqrt(96 / n));
  const at::Tensor q = model.weight(Role::q_weight, 0).flatten();
  const at::Tensor o = model.weight(Role::o_weight, 0).flatten();
  const double size = std::sqrt(static_cast<double>(q.numel()));
  const auto correlation = [&](const at::Tensor& a, const at::Tensor& b) {
    return (a * b).mean().item<double>() / (a.std() * b.std()).item<double>() * size;
  };
  EXPECT_LT(std::abs(correlation(q, o)), 4);
  EXPECT_LT(std::abs(correlation(q.narrow(0, 1, q.numel() - 1), q.narrow(0, 0, q.numel() - 1))), 4);
}

INSTANTIATE_TEST_SUITE_P(Families, RandomModels,
                         ::testing::Values("albert", "bert", "gemma2", "gpt2", "gpt_neox", "qwen3"),
                         [](const auto& instance) { return instance.param; });

// A part of a tensor holds the same values as the whole.
TEST(RandomModel, PartsOfATensor) {
  const Checkpoint random = random_model(known_induction_model(), 3);
  const TensorInfo& tensor = *random.tensors->find("W_E");
  std::vector<float> whole(tensor.bytes / sizeof(float));
  random.tensors->read(tensor, whole.data(), tensor.bytes);
  std::vector<float> part(21);
  random.tensors->read_part(tensor, 5 * sizeof(float), part.data(), part.size() * sizeof(float));
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 5));
}

}  // namespace
}  // namespace attnscope::testing
