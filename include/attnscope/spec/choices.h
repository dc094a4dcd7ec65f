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
enum class EngineChoice { automatic, reference, aten };

// How maps are stored: float32 rounded to 10 mantissa bits, half precision, or float32 as it is.
enum class MapFormat { r10, f16, f32 };

// One group a prompt, or all prompts packed into common datasets; `automatic` packs above 64.
enum class LayoutChoice { automatic, prompts, packed };

enum class ChatChoice { none, chatml, llama3, gemma };

// Which map of a head: weights after the softmax, or scores before it.
enum class MapChoice { pattern, scores };

enum class ExportFormat { automatic, csv, npy, png, svg };

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
