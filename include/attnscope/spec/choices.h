// File: choices.h
// The closed sets that options choose from, and their names on the command line and in JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {

// What the forward pass computes in.
enum class ComputeDType { f32, f64, bf16, f16 };

// Which code computes attention; `automatic` states its rule in the run's report.
enum class EngineChoice { automatic, reference, aten, cpu_tiled, cuda };

// How maps are stored: float32 rounded to 10 mantissa bits, half precision, or float32 as it is.
enum class MapFormat { r10, f16, f32 };

// One group a prompt, or all prompts packed into common datasets; `automatic` packs above 64.
enum class LayoutChoice { automatic, prompts, packed };

enum class ChatChoice { none, chatml, llama3, gemma };

// Which map of a head: weights after the softmax, or scores before it.
enum class MapChoice { pattern, scores };

enum class ExportFormat { automatic, csv, npy, png, svg };

// What is drawn of an experiment; none: attention maps are exported.
enum class FigureChoice { none, scatter, grid, patch_map };

// What an experiment measures of a run.
enum class MetricChoice {
  logit_diff,       // mean logit of the answers − mean logit of the wrong answers
  log_prob,         // mean log-probability of the answers
  prob,             // mean probability of the answers
  rank,             // rank of the (best) answer, 0 = first choice
  kl,               // KL(clean ‖ run) of the distributions
  total_variation,  // ½ Σ |p_clean − p_run|
  loss,             // mean negative log-likelihood of the prompt's own next tokens
  top1_change,      // 1 where the first choice is another than in the clean run
  label_logit,      // classifiers: logit of the label
  embedding_shift,  // encoders without a head: 1 − cosine to the clean embedding
};

// Metrics that compare a run with the one before the change: 0 where nothing changes, never below.
// The sign of such an effect cannot turn, so that sign flips give it no p.
bool is_divergence(MetricChoice metric);
// That, and what to compare such effects with, in lines for a reader; none for other metrics.
std::vector<std::string> why_no_p(MetricChoice metric);

// Metrics whose effects turn their sign when answer and wrong answer change places.
bool turns_with_answers(MetricChoice metric);

// What is ablated as one.
enum class UnitChoice { head, head_pos, kv_group, mlp, attention, neuron };

// What a unit's output becomes (README of probes/ablation has the exact meanings).
enum class AblationMethod { zero, mean, mean_pos, resample, vector, optimal };

// total: everything downstream is recomputed; direct: downstream and the final norm are frozen.
enum class EffectChoice { total, direct };

// denoise: run corrupt, insert clean; noise: run clean, insert corrupt.
enum class PatchDirection { denoise, noise };

// knockout: attention scores := −inf; value_zero: the value read along the edge := 0.
enum class EdgeCut { knockout, value_zero };

// The name of a choice ("r10") and all names in order. Defined for the enums above, BosMode and
// InvalidUtf8.
template <typename Choice>
std::string choice_name(Choice choice);
template <typename Choice>
std::vector<std::string> choice_names();

// Throws Error SP02 (exit 2) that names `option`, the text and the nearest valid name.
template <typename Choice>
Choice parse_choice(std::string_view text, std::string_view option);

}  // namespace attnscope
