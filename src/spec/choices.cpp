#include "attnscope/spec/choices.h"

#include <array>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

template <typename Choice>
struct Names;

template <>
struct Names<ComputeDType> {
  static constexpr std::array table = {
      std::pair{ComputeDType::f32, "f32"}, std::pair{ComputeDType::f64, "f64"},
      std::pair{ComputeDType::bf16, "bf16"}, std::pair{ComputeDType::f16, "f16"}};
};

template <>
struct Names<EngineChoice> {
  static constexpr std::array table = {
      std::pair{EngineChoice::automatic, "auto"}, std::pair{EngineChoice::reference, "reference"},
      std::pair{EngineChoice::aten, "aten"}, std::pair{EngineChoice::cpu_tiled, "cpu_tiled"},
      std::pair{EngineChoice::cuda, "cuda"}};
};

template <>
struct Names<MapFormat> {
  static constexpr std::array table = {std::pair{MapFormat::r10, "r10"},
                                       std::pair{MapFormat::f16, "f16"},
                                       std::pair{MapFormat::f32, "f32"}};
};

template <>
struct Names<LayoutChoice> {
  static constexpr std::array table = {std::pair{LayoutChoice::automatic, "auto"},
                                       std::pair{LayoutChoice::prompts, "prompts"},
                                       std::pair{LayoutChoice::packed, "packed"}};
};

template <>
struct Names<ChatChoice> {
  static constexpr std::array table = {
      std::pair{ChatChoice::none, "none"}, std::pair{ChatChoice::chatml, "chatml"},
      std::pair{ChatChoice::llama3, "llama3"}, std::pair{ChatChoice::gemma, "gemma"}};
};

template <>
struct Names<MapChoice> {
  static constexpr std::array table = {std::pair{MapChoice::pattern, "pattern"},
                                       std::pair{MapChoice::scores, "scores"}};
};

template <>
struct Names<ExportFormat> {
  static constexpr std::array table = {
      std::pair{ExportFormat::automatic, "auto"}, std::pair{ExportFormat::csv, "csv"},
      std::pair{ExportFormat::npy, "npy"}, std::pair{ExportFormat::png, "png"},
      std::pair{ExportFormat::svg, "svg"}};
};

template <>
struct Names<FigureChoice> {
  static constexpr std::array table = {
      std::pair{FigureChoice::none, "none"}, std::pair{FigureChoice::scatter, "scatter"},
      std::pair{FigureChoice::grid, "grid"}, std::pair{FigureChoice::patch_map, "patch-map"}};
};

template <>
struct Names<BosMode> {
  static constexpr std::array table = {std::pair{BosMode::automatic, "auto"},
                                       std::pair{BosMode::on, "on"},
                                       std::pair{BosMode::off, "off"}};
};

template <>
struct Names<InvalidUtf8> {
  static constexpr std::array table = {std::pair{InvalidUtf8::error, "error"},
                                       std::pair{InvalidUtf8::replace, "replace"}};
};

template <>
struct Names<MetricChoice> {
  static constexpr std::array table = {std::pair{MetricChoice::logit_diff, "logit-diff"},
                                       std::pair{MetricChoice::log_prob, "log-prob"},
                                       std::pair{MetricChoice::prob, "prob"},
                                       std::pair{MetricChoice::rank, "rank"},
                                       std::pair{MetricChoice::kl, "kl"},
                                       std::pair{MetricChoice::total_variation, "total-variation"},
                                       std::pair{MetricChoice::loss, "loss"},
                                       std::pair{MetricChoice::top1_change, "top1-change"},
                                       std::pair{MetricChoice::label_logit, "label-logit"},
                                       std::pair{MetricChoice::embedding_shift, "embedding-shift"}};
};

template <>
struct Names<UnitChoice> {
  static constexpr std::array table = {
      std::pair{UnitChoice::head, "head"},           std::pair{UnitChoice::head_pos, "head-pos"},
      std::pair{UnitChoice::kv_group, "kv-group"},   std::pair{UnitChoice::mlp, "mlp"},
      std::pair{UnitChoice::attention, "attention"}, std::pair{UnitChoice::neuron, "neuron"}};
};

template <>
struct Names<AblationMethod> {
  static constexpr std::array table = {std::pair{AblationMethod::zero, "zero"},
                                       std::pair{AblationMethod::mean, "mean"},
                                       std::pair{AblationMethod::mean_pos, "mean-pos"},
                                       std::pair{AblationMethod::resample, "resample"},
                                       std::pair{AblationMethod::vector, "vector"},
                                       std::pair{AblationMethod::optimal, "optimal"}};
};

template <>
struct Names<EffectChoice> {
  static constexpr std::array table = {std::pair{EffectChoice::total, "total"},
                                       std::pair{EffectChoice::direct, "direct"}};
};

template <>
struct Names<PatchDirection> {
  static constexpr std::array table = {std::pair{PatchDirection::denoise, "denoise"},
                                       std::pair{PatchDirection::noise, "noise"}};
};

template <>
struct Names<EdgeCut> {
  static constexpr std::array table = {std::pair{EdgeCut::knockout, "knockout"},
                                       std::pair{EdgeCut::value_zero, "value-zero"}};
};

}  // namespace

template <typename Choice>
std::string choice_name(Choice choice) {
  for (const auto& [value, name] : Names<Choice>::table) {
    if (value == choice) return name;
  }
  throw Error(ErrorKind::internal, "SP90", {.what = "a choice without a name"});
}

template <typename Choice>
std::vector<std::string> choice_names() {
  std::vector<std::string> names;
  for (const auto& [value, name] : Names<Choice>::table) names.emplace_back(name);
  return names;
}

bool is_divergence(MetricChoice metric) {
  return metric == MetricChoice::kl || metric == MetricChoice::total_variation ||
         metric == MetricChoice::top1_change || metric == MetricChoice::embedding_shift;
}

std::vector<std::string> why_no_p(MetricChoice metric) {
  if (!is_divergence(metric)) return {};
  const std::string name = choice_name(metric);
  return {
      "Effects have no p: " + name + " cannot be negative, so turning signs at random gives none.",
      "Intervals lie above 0 as a rule: compare effects with the noise floor, and with random "
      "changes (verdict)."};
}

bool turns_with_answers(MetricChoice metric) {
  return metric == MetricChoice::logit_diff;
}

template <typename Choice>
Choice parse_choice(std::string_view text, std::string_view option) {
  for (const auto& [value, name] : Names<Choice>::table) {
    if (text == name) return value;
  }
  const auto names = choice_names<Choice>();
  const auto near = nearest(text, names);
  throw Error(ErrorKind::input, "SP02",
              {.where = std::string(option),
               .what = "unknown value",
               .expected = "one of " + join(names, ", "),
               .got = quote(text),
               .next = near.empty() ? "" : "did you mean " + quote(near.front()) + "?"});
}

#define ATTNSCOPE_CHOICE(Choice)                            \
  template std::string choice_name<Choice>(Choice);         \
  template std::vector<std::string> choice_names<Choice>(); \
  template Choice parse_choice<Choice>(std::string_view, std::string_view)
ATTNSCOPE_CHOICE(ComputeDType);
ATTNSCOPE_CHOICE(EngineChoice);
ATTNSCOPE_CHOICE(MapFormat);
ATTNSCOPE_CHOICE(LayoutChoice);
ATTNSCOPE_CHOICE(ChatChoice);
ATTNSCOPE_CHOICE(MapChoice);
ATTNSCOPE_CHOICE(ExportFormat);
ATTNSCOPE_CHOICE(FigureChoice);
ATTNSCOPE_CHOICE(BosMode);
ATTNSCOPE_CHOICE(InvalidUtf8);
ATTNSCOPE_CHOICE(MetricChoice);
ATTNSCOPE_CHOICE(UnitChoice);
ATTNSCOPE_CHOICE(AblationMethod);
ATTNSCOPE_CHOICE(EffectChoice);
ATTNSCOPE_CHOICE(PatchDirection);
ATTNSCOPE_CHOICE(EdgeCut);
#undef ATTNSCOPE_CHOICE

}  // namespace attnscope
