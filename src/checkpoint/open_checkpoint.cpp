#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "choose_family.h"
#include "families/config_keys.h"
#include "match_tensors.h"
#include "model_folder.h"
#include "shard_index.h"
#include "unsupported_formats.h"

namespace attnscope {
namespace {

constexpr std::uint64_t kConfigBytes = 16ULL << 20;

// A configuration's text and what it parses to.
struct ConfigFile {
  std::string path;
  std::string where;  // the path, for messages
  std::string text;
  nlohmann::json parsed;
};

ConfigFile read_config(const std::string& path) {
  ConfigFile file;
  file.path = path;
  file.where = escape_untrusted(path, 4096);
  file.text = read_text_file(path, "CF05", kConfigBytes);
  file.parsed = parse_json(file.text, file.where, "CF06");
  return file;
}

std::string config_path(const std::string& folder) {
  if (const auto path = file_in_folder(folder, "config.json", "CF05")) return *path;
  // The weights alone may already tell what the folder is.
  if (!std::filesystem::exists(folder + "/model.safetensors") &&
      !std::filesystem::exists(folder + "/model.safetensors.index.json")) {
    refuse_folder_without_safetensors(folder);
  }
  throw Error(ErrorKind::input, "CF05",
              {.where = escape_untrusted(folder, 4096),
               .what = "config.json is missing",
               .expected = "a model folder with config.json and model.safetensors"});
}

void set_tokenizer(Checkpoint& checkpoint) {
  const auto optional_file = [&](const char* name) {
    return file_in_folder(checkpoint.folder, name, "CK05").value_or("");
  };
  checkpoint.tokenizer_json = optional_file("tokenizer.json");
  checkpoint.tokenizer_config = optional_file("tokenizer_config.json");
}

// Tells when the files hold other types than the configuration names.
void note_stored_types(Checkpoint& checkpoint, const JsonObject& json, const std::string& where,
                       Warnings& warnings) {
  std::map<std::string, int> counts;
  for (const TensorBinding& binding : checkpoint.map.bindings) {
    ++counts[dtype_name(checkpoint.tensors->find(binding.name)->dtype)];
  }
  const DType first = checkpoint.tensors->find(checkpoint.map.bindings.front().name)->dtype;
  const std::optional<DType> named = read_dtype(json);
  checkpoint.config.stored_dtype = named.value_or(first);
  if (counts.size() == 1 && first == checkpoint.config.stored_dtype) return;
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(std::to_string(count) + " " + name);
  warnings.add(where + ": the weights are stored as " + join(parts, ", ") +
               (named ? std::string("; config.json names ") + dtype_name(*named) : ""));
}

// A model's parts before they are put together.
struct Parts {
  ConfigFile file;
  const Family* family = nullptr;
  std::string architecture;
  std::string name;
  std::string folder;
  FolderWeights weights;
  Head head;
};

Checkpoint assemble(Parts parts, const OpenOptions& options, Warnings& warnings) {
  const JsonObject json(parts.file.parsed, parts.file.where, "CF07");
  const FamilyInput input{json, parts.head, warnings};
  Checkpoint checkpoint;
  checkpoint.config = parts.family->configure(input);
  checkpoint.config.family = parts.family->name;
  checkpoint.config.architecture = parts.architecture;
  checkpoint.config.name = parts.name;
  const TensorMap wanted = parts.family->map(checkpoint.config, input);
  const std::string where = escape_untrusted(parts.folder, 4096);
  checkpoint.map = match_tensors({.wanted = wanted,
                                  .base_prefix = parts.family->base_prefix,
                                  .source = *parts.weights.tensors,
                                  .where = where,
                                  .strictness = options.strictness},
                                 warnings);
  checkpoint.tensors = parts.weights.tensors;
  note_stored_types(checkpoint, json, where, warnings);
  checkpoint.config.config_json = std::move(parts.file.text);
  checkpoint.config.config_path = std::move(parts.file.path);
  for (const std::string& name : parts.weights.files) {
    checkpoint.weight_files.push_back(parts.folder + "/" + name);
  }
  checkpoint.folder = std::move(parts.folder);
  set_tokenizer(checkpoint);
  return checkpoint;
}

Parts folder_parts(const ModelPlace& place, Warnings& warnings) {
  refuse_adapter(place.folder);
  Parts parts;
  parts.file = read_config(config_path(place.folder));
  const JsonObject json(parts.file.parsed, parts.file.where, "CF07");
  refuse_quantised(json, place.folder);
  const FamilyChoice choice = choose_family(json);
  if (json.has("auto_map")) {
    warnings.add(parts.file.where +
                 ": auto_map names code of its own, which is never run; read as " +
                 choice.family->name);
  }
  parts.weights = open_folder_weights(place.folder);
  parts.head = choose_head(choice, *parts.weights.tensors, parts.file.where, warnings);
  parts.family = choice.family;
  parts.architecture = choice.architecture_name;
  parts.name = place.name;
  parts.folder = place.folder;
  return parts;
}

Parts single_file_parts(const ModelPlace& place) {
  Parts parts;
  parts.file = read_config(place.custom_json);
  const JsonObject json(parts.file.parsed, parts.file.where, "CF07");
  parts.family = &family_of_file(json);
  parts.architecture = parts.family->name;
  parts.name = json.string_or("name", place.name);
  parts.folder = place.folder;
  parts.weights = open_named_weights(place.folder, json.string("weights"), parts.file.where);
  return parts;
}

}  // namespace

Checkpoint open_checkpoint(const std::string& model, const OpenOptions& options,
                           Warnings& warnings) {
  const ModelPlace place = find_model(model, warnings);
  Parts parts =
      place.custom_json.empty() ? folder_parts(place, warnings) : single_file_parts(place);
  return assemble(std::move(parts), options, warnings);
}

std::string supported_families() {
  std::vector<std::string> names;
  for (const Family& family : all_families()) names.push_back(family.name);
  return join(names, ", ");
}

}  // namespace attnscope
