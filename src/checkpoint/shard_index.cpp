#include "shard_index.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "model_folder.h"
#include "unsupported_formats.h"

namespace attnscope {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr std::uint64_t kIndexBytes = 16ULL << 20;

// One file name of letters, digits, '.', '_' and '-' that ends in .safetensors: nothing that could
// leave the folder.
bool is_shard_name(const std::string& name) {
  constexpr std::string_view kEnding = ".safetensors";
  return name.size() > kEnding.size() && name.size() <= 255 && name.ends_with(kEnding) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-');
         });
}

std::string shard_path(const std::string& folder, const std::string& name,
                       const std::string& where) {
  if (!is_shard_name(name)) {
    throw Error(ErrorKind::input, "IX02",
                {.where = where,
                 .what = "the file name " + quote(name),
                 .expected = "one file name like model-00001-of-00002.safetensors, in the same "
                             "folder"});
  }
  const auto path = file_in_folder(folder, name, "IX03");
  if (!path) {
    throw Error(ErrorKind::input, "IX04",
                {.where = where,
                 .what = "the file " + quote(name) + " is missing",
                 .next = "download it again?"});
  }
  return *path;
}

struct ShardIndex {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::string>> tensors;  // tensor, file
};

ShardIndex read_index(const std::string& path) {
  const std::string where = escape_untrusted(path, 4096);
  const nlohmann::json parsed =
      parse_json(read_text_file(path, "IX01", kIndexBytes), where, "IX01");
  const JsonObject weight_map = JsonObject(parsed, where, "IX01").object("weight_map");
  if (weight_map.value().size() > SafetensorsLimits::kTensors) {
    throw Error(ErrorKind::limit, "IX06",
                {.where = where,
                 .what = "weight_map has too many entries",
                 .expected = "at most " + std::to_string(SafetensorsLimits::kTensors),
                 .got = std::to_string(weight_map.value().size())});
  }
  ShardIndex index;
  std::set<std::string> files;
  for (const auto& [tensor, file] : weight_map.value().items()) {
    if (!file.is_string()) {
      throw Error(ErrorKind::input, "IX01",
                  {.where = where,
                   .what = "weight_map: the file of " + quote(tensor),
                   .expected = "a string",
                   .got = json_type_name(file)});
    }
    files.insert(file.get<std::string>());
    index.tensors.emplace_back(tensor, file.get<std::string>());
  }
  if (files.empty()) {
    throw Error(ErrorKind::input, "IX01", {.where = where, .what = "weight_map is empty"});
  }
  index.files.assign(files.begin(), files.end());
  return index;
}

FolderWeights open_shards(const std::string& folder, const std::string& index_path) {
  const std::string where = escape_untrusted(index_path, 4096);
  ShardIndex index = read_index(index_path);
  std::vector<std::string> paths;
  std::map<std::string, std::string> path_of;
  for (const std::string& file : index.files) {
    paths.push_back(shard_path(folder, file, where));
    path_of[file] = paths.back();
  }
  auto source = std::make_shared<const SafetensorsSource>(paths);
  for (const auto& [tensor, file] : index.tensors) {
    if (source->find(tensor) != nullptr && source->file_of(tensor) == path_of[file]) continue;
    throw Error(ErrorKind::input, "IX04",
                {.where = where,
                 .what = "weight_map says that " + quote(file) + " holds tensor " + quote(tensor),
                 .got = source->find(tensor) == nullptr
                            ? "it is in no file"
                            : "it is in " + escape_untrusted(source->file_of(tensor), 4096)});
  }
  return {.tensors = std::move(source), .files = std::move(index.files)};
}

}  // namespace

FolderWeights open_named_weights(const std::string& folder, const std::string& path,
                                 const std::string& where) {
  const bool relative = !path.empty() && path.front() != '/' && path.find('\0') == path.npos;
  if (!relative || !path.ends_with(".safetensors")) {
    throw Error(ErrorKind::input, "IX02",
                {.where = where,
                 .what = "the path of the weights " + quote(path),
                 .expected = "a path to a .safetensors file, relative to this file"});
  }
  return {.tensors = std::make_shared<const SafetensorsSource>(
              std::vector<std::string>{folder + "/" + path}),
          .files = {path}};
}

FolderWeights open_folder_weights(const std::string& folder) {
  if (const auto single = file_in_folder(folder, kSingleFile, "IX03")) {
    return {.tensors = std::make_shared<const SafetensorsSource>(std::vector<std::string>{*single}),
            .files = {kSingleFile}};
  }
  if (const auto index = file_in_folder(folder, kIndexFile, "IX03")) {
    return open_shards(folder, *index);
  }
  refuse_folder_without_safetensors(folder);
}

}  // namespace attnscope
