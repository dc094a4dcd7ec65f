// File: capture_view.h
// From a capture file to what is drawn of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/render/heat_map.h"
#include "attnscope/sites/selectors.h"
#include "attnscope/storage/reader.h"

namespace attnscope {

// Query heads of each layer of the file's model.
std::vector<int> heads_per_layer(const CaptureReader& file);

// Whether the file holds this head's map.
bool has_head_map(const CaptureReader& file, int prompt, HeadId head, Site site);

// Throws RN04 (exit 2): the file does not hold this head's map, and says what it holds.
[[noreturn]] void fail_missing_map(const CaptureReader& file, int prompt, HeadId head, Site site);

// One head's map [q k] with its tokens; `site` is pattern or attn_scores. Throws RN04 when
// the file does not hold it.
HeatMap head_map(const CaptureReader& file, int prompt, HeadId head, Site site);

// The maps of several heads, one row a layer.
HeatMapGrid head_maps(const CaptureReader& file, int prompt, std::span<const HeadId> heads,
                      Site site);

// A statistic of every head: of one prompt, or (prompt −1) its mean over the prompts where it is
// defined. Throws RN05 (exit 2) on an unknown name.
HeadGrid head_grid(const CaptureReader& file, int prompt, Stack stack,
                   const std::string& statistic);

}  // namespace attnscope
