// File: capture_views.h
// Which heads and prompts of a capture file the options mean.
#pragma once

#include <string>
#include <vector>

#include "attnscope/render/capture_view.h"
#include "attnscope/sites/selectors.h"
#include "attnscope/spec/choices.h"
#include "attnscope/storage/reader.h"
#include "attnscope/support/warnings.h"

namespace attnscope::cli {

// Throws VW02 (exit 2) for a file of an experiment, which holds no maps, and says what shows it.
void require_maps(const CaptureReader& file);

// "5.1" as a head of the file's model. Errors name `option` and the heads there are.
HeadId parse_head(const CaptureReader& file, const std::string& text, const std::string& option);
// --heads "5.*,6.1" as heads, of which those that were not recorded are left out with a warning.
std::vector<HeadId> parse_stored_heads(const CaptureReader& file, int prompt, Site site,
                                       const std::string& text, Warnings& warnings);

Site map_site(MapChoice choice);

// "p000007" or "7"; the first prompt when `id` is empty.
int find_prompt(const CaptureReader& file, const std::string& id);

}  // namespace attnscope::cli
