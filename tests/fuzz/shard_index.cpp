// model.safetensors.index.json in a folder that holds two shards and a link that leads out of it.
#include <unistd.h>

#include "scratch.h"
#include "shard_index.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

std::string one_tensor(const std::string& name) {
  const std::string header = "{\"" + name +
                             "\":{\"dtype\":\"F32\",\"shape\":[1],"
                             "\"data_offsets\":[0,4]}}";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  return file + header + std::string(4, '\0');
}

struct Folder {
  Scratch model;
  Scratch outside;
  Folder() {
    model.write("a.safetensors", one_tensor("x"));
    model.write("b.safetensors", one_tensor("y"));
    const std::string target = outside.write("c.safetensors", one_tensor("z"));
    check(::symlink(target.c_str(), (model.path() + "/c.safetensors").c_str()) == 0,
          "cannot make a link");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  folder.model.write("model.safetensors.index.json", as_text(data, size));
  FolderWeights weights;
  if (!accepts([&] { weights = open_folder_weights(folder.model.path()); })) return 0;
  check(!weights.files.empty(), "an index without a file");
  for (const std::string& file : weights.files) {
    check(file == "a.safetensors" || file == "b.safetensors", "a file from outside the folder");
  }
  return 0;
}
