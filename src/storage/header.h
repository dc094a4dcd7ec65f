// File: header.h
// What every file says of itself: root attributes, /model and /run.
#pragma once

#include "attnscope/storage/h5.h"
#include "attnscope/storage/schema.h"

namespace attnscope::storage_detail {

void write_header(h5::Group& root, const FileInfo& file, const ModelInfo& model,
                  const RunInfo& run);

}  // namespace attnscope::storage_detail
