// File: experiment_json.h
// The result of an experiment as JSON.
#pragma once

#include <optional>
#include <string>

#include "attnscope/probes/experiment.h"

namespace attnscope::console {

// {"experiment", "metric", "baseline": mean over prompts, "cells": [{"unit", "method", "effect",
// "ci": [low, high], "p", "n", …}], "noise_floor", "verify", …}. A value that is missing, such as
// the interval of too few prompts, is null. Arrays over prompts stay in the file. Other arrays are
// {"axes", "values"}; records of single prompts stand in a list "by_prompt". Several grids of patch
// are a list "experiments", each with the keys from "experiment" to "attributes" and its arrays;
// what ablate and verdict add (interactions, kv groups) is such a list "further". After a dry run
// there is the plan alone.
std::string experiment_json(const ExperimentResult& result);

// What a file holds of it; `part`: which part of a run the file is.
std::string record_json(const ExperimentRecord& record, const std::optional<ShardId>& part);

}  // namespace attnscope::console
