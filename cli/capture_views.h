// File: capture_views.h
// From a capture file to what is drawn of it.
#pragma once

#include <string>
#include <vector>

#include "attnscope/render/heat_map.h"
#include "attnscope/sites/selectors.h"
#include "attnscope/spec/choices.h"
#include "attnscope/storage/reader.h"

namespace attnscope::cli {

// "5.1" as a head of the file's model. Errors name `option` and the heads there are.
HeadId parse_head(const CaptureReader& file, const std::string& text, const std::string& option);
// --heads "5.*,6.1" as heads, of which those that were not recorded are left out with a warning.
std::vector<HeadId> parse_stored_heads(const CaptureReader& file, int prompt, Site site,
                                       const std::string& text);

// One head's map [q k] with its tokens. Throws VW02 (exit 2) when the file does not hold it, saying
// what it holds.
HeatMap head_map(const CaptureReader& file, int prompt, HeadId head, Site site);

// A statistic of every head: of one prompt, or (prompt −1) its mean over the prompts where it is
// defined. Throws VW03 (exit 2) on an unknown name.
HeadGrid head_grid(const CaptureReader& file, int prompt, Stack stack,
                   const std::string& statistic);

Site map_site(MapChoice choice);

// "p000007" or "7"; the first prompt when `id` is empty.
int find_prompt(const CaptureReader& file, const std::string& id);

}  // namespace attnscope::cli
