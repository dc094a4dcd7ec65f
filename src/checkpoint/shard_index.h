// File: shard_index.h
// model.safetensors.index.json: which shard holds which tensor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attnscope/checkpoint/safetensors.h"

namespace attnscope {

// The weights of a model folder and the files that hold them.
struct FolderWeights {
  std::shared_ptr<const SafetensorsSource> tensors;
  std::vector<std::string> files;  // names within the folder
};

// Opens model.safetensors, or the shards that the index names. Every tensor that the index maps
// must be in its shard. Errors: IX01 to IX06 for the index, ST for a shard, CK10 to CK14 where the
// folder holds no safetensors at all.
FolderWeights open_folder_weights(const std::string& folder);

// One safetensors file by its path relative to `folder`, as a user's own FILE.json names it. The
// path may lead out of the folder but may not be absolute.
FolderWeights open_named_weights(const std::string& folder, const std::string& path,
                                 const std::string& where);

}  // namespace attnscope
