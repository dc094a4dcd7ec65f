#include "console/small_result.h"

#include <cmath>

namespace attnscope::testing {
namespace {

const double kNan = std::nan("");

ExperimentResult result_around(ExperimentRecord record) {
  ExperimentResult result;
  result.record = std::move(record);
  result.plan = "3 cells\n";
  result.prompts = 40;
  result.clusters = 12;
  result.cells = 240;
  result.seconds = 2;
  result.cells_per_second = 120;
  result.device = "cpu";
  result.dtype = "f32";
  result.engine = "aten";
  result.model = "tiny";
  result.threads = 1;
  result.warnings = {"one doubt"};
  return result;
}

}  // namespace

ExperimentResult small_result() {
  ExperimentRecord record;
  record.name = "ablate";
  record.kind = "ablate";
  record.metric = "logit-diff";
  record.noise_floor = 2.5e-7;
  record.attributes = {{"verify_cells", std::int64_t{3}},
                       {"verify_max_difference", 1e-6},
                       {"effect_kind", std::string("total")}};
  record.texts = {{"methods", {"method"}, {2}, {"zero", "mean"}},
                  {"cells", {"cell"}, {3}, {"0.0", "0.1", "1.0"}}};
  record.integers = {{"layers", {"cell"}, {3}, {0, 0, 1}},
                     {"heads", {"cell"}, {3}, {0, 1, 0}},
                     {"positions", {"cell"}, {3}, {-1, -1, -1}},
                     {"n", {"method", "cell"}, {2, 3}, {40, 40, 40, 40, 40, 39}},
                     {"undefined", {"method", "cell"}, {2, 3}, {0, 0, 0, 0, 0, 1}},
                     {"groups", {"method", "cell"}, {2, 3}, {12, 12, 12, 12, 12, 0}},
                     {"interval_kind", {"method", "cell"}, {2, 3}, {0, 0, 1, 0, 2, -2}}};
  record.arrays = {{"effect", {"method", "cell"}, {2, 3}, {-0.5, 2, 0.25, -1, 3, kNan}},
                   {"ci_low", {"method", "cell"}, {2, 3}, {-0.6, 1.5, 0.125, -2, 2, kNan}},
                   {"ci_high", {"method", "cell"}, {2, 3}, {-0.4, 2.5, 0.375, 0, 4, kNan}},
                   {"p", {"method", "cell"}, {2, 3}, {0.01, 0.001, 0.2, 0.05, 0.002, kNan}},
                   {"p_adjusted", {"method", "cell"}, {2, 3}, {0.03, 0.003, 0.4, 0.1, 0.004, kNan}},
                   {"baseline", {"prompt"}, {4}, {1, 2, kNan, 6}},
                   {"per_prompt", {"method", "cell", "prompt"}, {2, 3, 0}, {}},
                   {"spread", {"side"}, {2}, {0.5, kNan}}};
  return result_around(std::move(record));
}

ExperimentResult small_patch() {
  ExperimentRecord record;
  record.name = "patch";
  record.kind = "patch";
  record.metric = "logit-diff";
  record.texts = {{"methods", {"method"}, {1}, {"resid_pre"}},
                  {"cells", {"cell"}, {6}, {"0@0", "0@1", "0@2", "1@0", "1@1", "1@2"}}};
  record.integers = {{"layers", {"cell"}, {6}, {0, 0, 0, 1, 1, 1}},
                     {"heads", {"cell"}, {6}, {-1, -1, -1, -1, -1, -1}},
                     {"positions", {"cell"}, {6}, {0, 1, 2, 0, 1, 2}},
                     {"groups", {"method", "cell"}, {1, 6}, {3, 3, 3, 3, 9, 3}},
                     {"interval_kind", {"method", "cell"}, {1, 6}, {-1, -1, -1, -1, -1, -1}}};
  record.arrays = {{"effect", {"method", "cell"}, {1, 6}, {0, 4, 0, 0, 1, 3}},
                   {"recovery", {"method", "cell"}, {1, 6}, {0, 1, 0, 0, 0.25, 0.75}}};
  return result_around(std::move(record));
}

}  // namespace attnscope::testing
