// File: report.h
// A verdict as one page that needs nothing else: no network, no other file, readable without a
// script.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/storage/experiment.h"
#include "attnscope/storage/reader.h"
#include "attnscope/storage/schema.h"

namespace attnscope {

// The record has `methods`, `cells` and `effect` (experiment.h). The page also shows, where they
// are there:
// - texts: `paragraph` {} the finding in words; `withheld` {} why no verdicts are given, which the
//   paragraph says too; `notes` {"note"}; `controls`, `control_results` ("passed", "failed",
//   "reported" or "not run") and `control_details`
//   {"control"}; `measures` {"measure"};
// - numbers by {"method", "cell"} or {"cell"}: intervals, `p_adjusted`, `direct`,
//   `minimal_detectable` (what could have been found, the largest over methods); by {"cell",
//   "measure"}: `attention`; by
//   {"method", "measure"}: `rank_correlation` and `rank_ceiling`, each with `_low` and `_high`;
//   `rank_correlation_p`; `rank_attainable` (what a perfect measure would reach);
// - integers {"cell"}: `verdict`, `unspecific` (1 where a placebo metric moves as well);
// - integers {"method", "measure"}: `rank_correlation_shuffles` (of which p is a share, 0 where it
// is
//   exact; those of effects are in spec_json);
// - attributes `delta`, `prompts` and `estimation_prompts` (of all, and of those that nothing was
//   chosen on).
struct VerdictReport {
  ModelInfo model;
  RunInfo run;
  std::int64_t prompts = 0;
  std::int64_t clusters = 0;  // 0 = not known
  ExperimentRecord record;
};

// HTML 5 in UTF-8. The same report gives the same bytes.
std::string verdict_report_html(const VerdictReport& report);

// The report of a file; throws RN08 (exit 2) if it holds no verdict.
VerdictReport verdict_report_of(const CaptureReader& file);

}  // namespace attnscope
