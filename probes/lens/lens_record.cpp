#include "lens_record.h"

#include <ATen/ATen.h>

#include <array>
#include <cstdio>
#include <limits>
#include <utility>

#include "attnscope/storage/schema.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

std::vector<std::int64_t> shape_of(const at::Tensor& values) {
  return values.sizes().vec();
}

NamedArray array_of(std::string name, std::vector<std::string> dims, const at::Tensor& values) {
  const at::Tensor flat = values.to(at::kCPU, at::kDouble).contiguous();
  const auto* data = flat.const_data_ptr<double>();
  return {std::move(name), std::move(dims), shape_of(values), {data, data + flat.numel()}};
}

NamedIntegers integers_of(std::string name, std::vector<std::string> dims,
                          const at::Tensor& values) {
  const at::Tensor flat = values.to(at::kCPU, at::kLong).contiguous();
  const auto* data = flat.const_data_ptr<std::int64_t>();
  return {std::move(name), std::move(dims), shape_of(values), {data, data + flat.numel()}};
}

NamedTexts stage_names(std::int64_t stages) {
  NamedTexts texts{"stages", {"stage"}, {stages}, {"embedding"}};
  for (std::int64_t l = 0; l + 1 < stages; ++l)
    texts.values.push_back("layer " + std::to_string(l));
  return texts;
}

void add_lens(const LogitLens& lens, const IdNames& names, ExperimentRecord& record) {
  record.texts.push_back(stage_names(lens.top_id.size(0)));
  record.integers.push_back(integers_of("top_id", {"stage", "position", "choice"}, lens.top_id));
  record.arrays.push_back(array_of("top_prob", {"stage", "position", "choice"}, lens.top_prob));
  NamedTexts top{"top_text", {"stage", "position", "choice"}, shape_of(lens.top_id), {}};
  for (const std::int64_t id : record.integers.back().values) top.values.push_back(names(id));
  record.texts.push_back(std::move(top));
  record.integers.push_back(integers_of("target_rank", {"stage", "position"}, lens.target_rank));
  record.arrays.push_back(array_of("target_log_prob", {"stage", "position"}, lens.target_log_prob));
  record.arrays.push_back(array_of("kl", {"stage", "position"}, lens.kl));
}

// The parts that are no layer's: total, embedding, position, constant.
const std::vector<std::string> kEnds = {"total", "embedding", "position", "constant"};

at::Tensor ends_of(const Attribution& parts) {
  return at::stack({parts.total, parts.embedding, parts.position, parts.constant}, -1);  // [p 4]
}

void add_attribution(const Attribution& parts, ExperimentRecord& record) {
  record.texts.push_back({"ends", {"end"}, {4}, kEnds});
  record.arrays.push_back(array_of("dla_ends", {"read", "end"}, ends_of(parts)));
  record.arrays.push_back(
      array_of("dla_heads", {"read", "layer", "head"}, parts.heads.permute({2, 0, 1})));
  record.arrays.push_back(array_of("dla_sources", {"read", "layer", "head", "source"},
                                   parts.sources.permute({2, 0, 1, 3})));
  record.arrays.push_back(array_of("dla_mlps", {"read", "layer"}, parts.mlp.t()));
  record.arrays.push_back(
      array_of("dla_attention_biases", {"read", "layer"}, parts.attention_bias.t()));
}

std::string name_of_prompt(int index) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "lens/p%06d", index);
  return text.data();
}

void accumulate(at::Tensor& sum, const at::Tensor& value) {
  const at::Tensor wide = value.to(at::kCPU, at::kDouble);
  sum = sum.defined() ? sum + wide : wide;
}

}  // namespace

std::string IdNames::operator()(std::int64_t id) const {
  if (id < 0) return "";
  const auto at = static_cast<std::size_t>(id);
  if (config_.head == HeadKind::classifier) {
    return at < config_.labels.size() ? config_.labels[at] : "#" + std::to_string(id);
  }
  const std::optional<std::string> piece =
      tokenizer_ == nullptr ? std::nullopt : tokenizer_->piece(id);
  if (!piece) return "#" + std::to_string(id);
  if (tokenizer_->is_special(id)) return *piece;
  // As it stands inside a text: written twice, without the first.
  const std::string once = tokenizer_->decode(std::array{id});
  const std::string twice = tokenizer_->decode(std::array{id, id});
  const std::string text = twice.starts_with(once) ? twice.substr(once.size()) : once;
  // A token can hold a part of a character; its piece is readable then.
  const bool readable = !text.empty() && text.find("\xEF\xBF\xBD") == std::string::npos;
  return readable && !first_invalid_utf8(text) ? text : *piece;
}

ExperimentRecord record_of_prompt(const PromptLens& prompt, const EncodedPair& pair, int index,
                                  const IdNames& names) {
  ExperimentRecord record;
  record.name = name_of_prompt(index);
  record.kind = file_kind_name(FileKind::lens);
  record.metric = prompt.direction;
  add_lens(prompt.lens, names, record);
  const auto length = static_cast<std::int64_t>(pair.clean.size());
  record.texts.push_back({"tokens", {"position"}, {length}, pair.clean.token_texts});
  record.integers.push_back({"reads",
                             {"read"},
                             {static_cast<std::int64_t>(prompt.reads.size())},
                             {prompt.reads.begin(), prompt.reads.end()}});
  if (!prompt.attribution) return record;
  add_attribution(*prompt.attribution, record);
  return record;
}

void LensSummary::add(const PromptLens& prompt) {
  ++prompts_;
  const std::int64_t read = prompt.reads.back();
  accumulate(kl_, prompt.lens.kl.select(1, read));
  accumulate(log_prob_, prompt.lens.target_log_prob.select(1, read));
  const at::Tensor rank = prompt.lens.target_rank.select(1, read);
  accumulate(first_, at::where(rank < 0, std::numeric_limits<double>::quiet_NaN(),
                               (rank == 0).to(at::kDouble)));
  if (!prompt.attribution) return;
  ++attributed_;
  const Attribution& parts = *prompt.attribution;
  accumulate(heads_, parts.heads.select(2, -1));
  accumulate(mlp_, parts.mlp.select(1, -1));
  accumulate(attention_bias_, parts.attention_bias.select(1, -1));
  accumulate(ends_, ends_of(parts)[-1]);
}

ExperimentRecord LensSummary::record() const {
  ExperimentRecord record;
  record.name = "lens";
  record.kind = file_kind_name(FileKind::lens);
  record.attributes["prompts"] = static_cast<std::int64_t>(prompts_);
  record.attributes["attributed"] = static_cast<std::int64_t>(attributed_);
  if (prompts_ == 0) return record;
  record.texts.push_back(stage_names(kl_.size(0)));
  record.arrays.push_back(array_of("kl", {"stage"}, kl_ / prompts_));
  record.arrays.push_back(array_of("target_log_prob", {"stage"}, log_prob_ / prompts_));
  record.arrays.push_back(array_of("target_first", {"stage"}, first_ / prompts_));
  if (attributed_ == 0) return record;
  record.texts.push_back({"ends", {"end"}, {4}, kEnds});
  record.arrays.push_back(array_of("dla_ends", {"end"}, ends_ / attributed_));
  record.arrays.push_back(array_of("dla_heads", {"layer", "head"}, heads_ / attributed_));
  record.arrays.push_back(array_of("dla_mlps", {"layer"}, mlp_ / attributed_));
  record.arrays.push_back(
      array_of("dla_attention_biases", {"layer"}, attention_bias_ / attributed_));
  return record;
}

}  // namespace attnscope
