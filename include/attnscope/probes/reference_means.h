// File: reference_means.h
// What ablated units become: means over reference prompts, and donors for resampling.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <vector>

#include "attnscope/probes/experiment_run.h"
#include "attnscope/probes/sweep.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// Means of some sites over reference prompts, in double.
struct ReferenceMeans {
  std::map<HookId, at::Tensor> all;          // over all real tokens: z [h d], attn_out [m] …
  std::map<HookId, at::Tensor> by_position;  // over prompts: z [q h d] …
};

enum class PositionMeans : std::uint8_t { off, on };

// Runs the rows once. With PositionMeans::on all rows must have one length: Error AB10 (exit 2).
ReferenceMeans reference_means(const Model& model, const std::vector<TokenRow>& rows,
                               const std::vector<HookId>& hooks, PositionMeans positions,
                               Engine engine);

// For means by position. Throws Error AB10 (exit 2) where prompts have another length than those
// whose means they get.
void check_equal_lengths(const std::vector<SweepPrompt>& prompts,
                         const std::vector<TokenRow>& reference);

// Gives every prompt without a corrupt twin another prompt of equal length as its donor, of another
// cluster, drawn by seed. Throws Error AB11 (exit 2) where there is none.
void draw_donors(std::vector<SweepPrompt>& prompts, const std::vector<int>& clusters,
                 std::uint64_t seed);

// Warns of prompts on which a method puts in what is there already, so that nothing can change: a
// mean over nothing but the prompt itself, a donor that is the prompt. `reference` are the prompts
// whose means are used.
void warn_of_own_values(const std::vector<AblationMethod>& methods,
                        const std::vector<SweepPrompt>& prompts,
                        const std::vector<TokenRow>& reference, Warnings& warnings);

}  // namespace attnscope
