#include "model_file.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "attnscope/support/error.h"

namespace attnscope::demo {
namespace {

using Json = nlohmann::ordered_json;

const char* safetensors_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    default:
      break;
  }
  throw Error(ErrorKind::internal, "DM03",
              {.where = "custom model", .what = "a tensor that is not float32 or float64"});
}

// The header's length in 8 bytes, the header, then the tensors one after the other.
std::string safetensors_of(const TensorSource& source) {
  Json header = Json::object();
  std::string data;
  for (const TensorInfo& tensor : source.tensors()) {
    const std::size_t begin = data.size();
    data.resize(begin + tensor.bytes);
    source.read(tensor, data.data() + begin, tensor.bytes);
    header[tensor.name] = {{"dtype", safetensors_type(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string file;
  for (int byte = 0; byte < 8; ++byte)
    file += static_cast<char>((text.size() >> (8 * byte)) & 0xff);
  return file + text + data;
}

// "blocks.1.W_Q" → "blocks.{l}.W_Q".
std::string with_layer_mark(std::string name, int layer) {
  const std::string number = "." + std::to_string(layer) + ".";
  const std::size_t at = layer < 0 ? std::string::npos : name.find(number);
  return at == std::string::npos ? name : name.replace(at, number.size(), ".{l}.");
}

Json config_of(const ModelConfig& config) {
  std::vector<int> heads, head_sizes, mlps;
  for (const LayerConfig& layer : config.layers) {
    heads.push_back(layer.attention.n_heads);
    head_sizes.push_back(layer.attention.d_head);
    mlps.push_back(layer.d_mlp);
  }
  return {{"n_layers", config.n_layers},
          {"n_heads", heads},
          {"d_head", head_sizes},
          {"d_mlp", mlps},
          {"d_model", config.d_model},
          {"d_vocab", config.d_vocab},
          {"n_context", config.n_context},
          {"norm", "none"},
          {"positions", "learned"},
          {"mask", "causal"},
          {"scale", config.layers.front().attention.scale},
          {"bos_id", config.bos_id}};
}

}  // namespace

void write_custom_model(const Checkpoint& checkpoint, const std::string& folder,
                        const std::string& stem, WriteMode mode) {
  Json map = Json::object();
  for (const TensorBinding& binding : checkpoint.map.bindings) {
    map[role_name(binding.role)] = with_layer_mark(binding.name, binding.layer);
  }
  const Json file = {{"family", "custom"},
                     {"name", checkpoint.config.name},
                     {"weights", stem + ".safetensors"},
                     {"config", config_of(checkpoint.config)},
                     {"map", map}};
  write_file_atomically(folder + "/" + stem + ".safetensors", safetensors_of(*checkpoint.tensors),
                        mode);
  write_file_atomically(folder + "/" + stem + ".json", file.dump(2) + "\n", mode);
}

}  // namespace attnscope::demo
