// The pictures of the demo.
#pragma once

#include <string>
#include <vector>

#include "attnscope/sites/selectors.h"
#include "attnscope/storage/reader.h"
#include "attnscope/support/file.h"

namespace attnscope::demo {

// Writes `stem`.png and `stem`.svg into `folder`; returns their names.
std::vector<std::string> draw_head(const CaptureReader& file, HeadId head,
                                   const std::string& folder, const std::string& stem,
                                   WriteMode mode);
std::vector<std::string> draw_all_heads(const CaptureReader& file, const std::string& folder,
                                        const std::string& stem, WriteMode mode);
std::vector<std::string> draw_statistic(const CaptureReader& file, const std::string& statistic,
                                        const std::string& folder, const std::string& stem,
                                        WriteMode mode);

}  // namespace attnscope::demo
