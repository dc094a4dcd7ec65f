// File: experiment.h
// Records of experiments in a file.
#pragma once

#include "attnscope/storage/codec.h"
#include "attnscope/storage/experiment.h"
#include "attnscope/storage/h5.h"

namespace attnscope::storage_detail {

// At /experiments/<record.name>; arrays go the way they come, cells as the grid that they fill.
void write_experiment(h5::Group& root, const ExperimentRecord& record, ChunkCompressor& compressor);

// Every record below `group`, named by its path from there.
std::vector<ExperimentRecord> read_experiments(const h5::Group& group);

}  // namespace attnscope::storage_detail
