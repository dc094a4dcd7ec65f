// File: experiment_view.h
// From the record of an experiment to what is drawn of it.
#pragma once

#include <string>
#include <vector>

#include "attnscope/render/effect_view.h"
#include "attnscope/render/heat_map.h"
#include "attnscope/render/scatter.h"
#include "attnscope/storage/reader.h"

namespace attnscope {

// Record `name` of the file, with "" its first one with effects. Throws RN08 (exit 2), saying what
// the file holds.
ExperimentRecord find_experiment(const CaptureReader& file, const std::string& name);

// Of a verdict: which prompts its effects are of, and which its rank correlations. One sentence; ""
// where the record does not say.
std::string prompts_used(const EffectView& table);

// Lines under a figure: model, prompts, metric, method and n.
std::vector<std::string> experiment_caption(const CaptureReader& file, const EffectView& table,
                                            int method);

// Effects of one method, layers downwards and heads across. Throws RN09 (exit 2) when no cell is a
// head. Heads that were not measured are missing.
HeatMap effect_grid(const EffectView& table, int method);

// The same of an attention measure.
HeatMap attention_grid(const EffectView& table, int measure);

// Effects of one method, layers downwards and positions across, labelled with the tokens that all
// prompts share. Throws RN09 when no cell is a position of a layer. Cells of several heads at one
// place: the largest |effect|.
HeatMap patch_map(const EffectView& table, int method, const std::vector<std::string>& tokens);

// The token of each position that the first prompts have in common; "" where they differ.
std::vector<std::string> common_tokens(const CaptureReader& file);

// One attention measure across, effects of one method with their simultaneous intervals upwards.
// Throws RN09 when the record has no attention measures.
ScatterPlot attention_scatter(const EffectView& table, int measure, int method);

// One line a cell and method: names, places, effect, intervals, p, n, verdict, attention measures.
std::string to_csv(const EffectView& table);

}  // namespace attnscope
