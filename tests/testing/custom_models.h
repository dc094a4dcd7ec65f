// File: custom_models.h
#pragma once

#include <optional>
#include <string>

#include "testing/temp_folder.h"

namespace attnscope::testing {

// The FILE.json of a custom model of tests/fixtures/custom: "pizza_l8k1hzciux", "induction" …
// Models whose weights are not in the repository get a copy of both in `folder`; nothing is
// returned for them when ATTNSCOPE_MATERIAL is not set.
std::optional<std::string> custom_model(const std::string& name, const TempFolder& folder);

}  // namespace attnscope::testing
