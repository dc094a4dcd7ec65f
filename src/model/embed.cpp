#include "attnscope/support/error.h"
#include "layers.h"

namespace attnscope {
namespace {

// Ids outside a table would be undefined reads on a GPU and a library error on a CPU.
void expect_ids(const at::Tensor& ids, std::int64_t rows, const char* what) {
  const std::int64_t low = ids.min().item<std::int64_t>();
  const std::int64_t high = ids.max().item<std::int64_t>();
  if (low >= 0 && high < rows) return;
  throw Error(ErrorKind::input, "MO10",
              {.where = what,
               .what = "id " + std::to_string(low < 0 ? low : high) + " is outside the table",
               .expected = "0 to " + std::to_string(rows - 1)});
}

}  // namespace

at::Tensor embed(Run& run) {
  const ModelWeights& model = run.model;
  const c10::Device device = model.device;
  expect_ids(run.batch.ids, model.token_embedding.size(0), "token ids");
  at::Tensor tokens = at::embedding(model.token_embedding, run.batch.ids.to(device));
  if (run.config.embed_multiplier != 1) tokens = tokens * run.config.embed_multiplier;
  at::Tensor x = run.tap(Site::embed, -1, tokens);

  if (run.config.position == PositionKind::learned) {
    const at::Tensor positions = run.batch.position_ids + run.config.position_offset;
    expect_ids(positions, model.position_embedding.size(0), "position ids");
    at::Tensor rows = at::embedding(model.position_embedding, positions.to(device));
    x = x + run.tap(Site::pos_embed, -1, rows);
  }
  if (run.config.token_types > 0) {
    const at::Tensor types =
        run.batch.token_types.defined() ? run.batch.token_types : at::zeros_like(run.batch.ids);
    expect_ids(types, model.token_type_embedding.size(0), "token types");
    x = x + at::embedding(model.token_type_embedding, types.to(device));
  } else if (run.batch.token_types.defined()) {
    expect_ids(run.batch.token_types, 1, "token types of a model that has none");
  }
  if (run.config.embed_norm) x = normalize(run, model.embed_norm, x, std::nullopt);
  if (model.embed_projection.defined()) x = model.embed_projection(x);
  return x;
}

}  // namespace attnscope
