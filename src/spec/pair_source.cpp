#include "attnscope/spec/pair_source.h"

#include "attnscope/spec/prompts.h"
#include "attnscope/support/utf8.h"

namespace attnscope {

AnswerUse answer_use(MetricChoice metric) {
  switch (metric) {
    case MetricChoice::logit_diff:
      return AnswerUse::answer_and_wrong;
    case MetricChoice::log_prob:
    case MetricChoice::prob:
    case MetricChoice::rank:
      return AnswerUse::answer;
    case MetricChoice::label_logit:
      return AnswerUse::label;
    case MetricChoice::kl:
    case MetricChoice::total_variation:
    case MetricChoice::loss:
    case MetricChoice::top1_change:
    case MetricChoice::embedding_shift:
      break;
  }
  return AnswerUse::unused;
}

Pair inline_pair(const PairSource& source) {
  Pair pair;
  pair.clean.text = source.prompt.value_or("");
  pair.clean.ids = source.ids;
  if (source.corrupt || source.corrupt_ids) {
    pair.corrupt.emplace();
    pair.corrupt->text = source.corrupt.value_or("");
    pair.corrupt->ids = source.corrupt_ids;
  }
  if (source.answer) pair.answers = {*source.answer};
  if (source.wrong) pair.wrongs = {*source.wrong};
  if (source.answer_id) pair.answer_ids = {*source.answer_id};
  if (source.wrong_id) pair.wrong_ids = {*source.wrong_id};
  return pair;
}

PairSet load_pairs(const PairSource& source, const EncodingOptions& encoding,
                   const Tokenizer* tokenizer, const PairNeeds& needs, Warnings& warnings) {
  const PairOptions options = {
      .corrupt = needs.corrupt,
      .answers = needs.answers,
      .misaligned = source.skip_misaligned ? Misaligned::skip : Misaligned::stop,
      .foreign_ids = source.answer_ids,
      .skip_bad = source.skip_bad,
      .limit = source.limit,
      .vocabulary = needs.vocabulary,
      .encode = encode_options(encoding, tokenizer)};
  if (!source.pairs_file.empty()) {
    return read_pairs(source.pairs_file, tokenizer, options, warnings);
  }
  return encode_pairs({inline_pair(source)}, pair_place(source, 0), tokenizer, options, warnings);
}

std::string pair_place(const PairSource& source, std::int64_t line) {
  if (line == 0) return source.ids ? "--ids" : "--prompt";
  return escape_untrusted(source.pairs_file, 4096) + ":" + std::to_string(line);
}

}  // namespace attnscope
