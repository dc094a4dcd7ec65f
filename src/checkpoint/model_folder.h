// File: model_folder.h
// Where a model lies and which of its files may be opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/support/warnings.h"

namespace attnscope {

// A model as -m names it, found on disk.
struct ModelPlace {
  std::string folder;       // folder with the files
  std::string custom_json;  // the custom model's FILE.json, or empty
  std::string name;         // for people
};

// Resolves a folder, FILE.json, a cache folder models--org--name, or org/name in the local Hugging
// Face cache. Nothing is downloaded. Errors CK01 to CK05.
ModelPlace find_model(const std::string& model, Warnings& warnings);

// The Hugging Face cache: HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or
// ~/.cache/huggingface/hub.
std::string hub_cache_folder();

// One file of a model folder. A symbolic link is followed only to a regular file under the folder
// or under the blobs/ of the same cache repository; otherwise it is an error with code `code`.
// Returns the path to open, or nothing when the file does not exist.
std::optional<std::string> file_in_folder(const std::string& folder, const std::string& name,
                                          const std::string& code);

// Names of the folder's own entries, sorted.
std::vector<std::string> entries_of(const std::string& folder);

}  // namespace attnscope
