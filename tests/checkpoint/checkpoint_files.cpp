#include "checkpoint_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "attnscope/checkpoint/safetensors.h"

namespace attnscope::testing {
namespace {

const std::map<std::string, std::int64_t> kSizes = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2},
                                                    {"I64", 8}, {"I32", 4}, {"I16", 2}, {"I8", 1},
                                                    {"U8", 1},  {"BOOL", 1}};

std::string file_name_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "F64";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
    case DType::i64:
      return "I64";
    case DType::u8:
      return "U8";
    case DType::boolean:
      return "BOOL";
    default:
      return "F32";
  }
}

}  // namespace

std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  }
  return bytes + header + data;
}

std::string safetensors_file(const std::vector<FileTensor>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::int64_t offset = 0;
  for (const FileTensor& t : tensors) {
    std::int64_t bytes = kSizes.at(t.dtype);
    for (const std::int64_t n : t.shape) bytes *= n;
    header[t.name] = {
        {"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  return safetensors_bytes(header.dump(), std::string(static_cast<std::size_t>(offset), '\0'));
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out) throw std::runtime_error("cannot write " + path);
}

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<FileTensor> tensors_of(const std::string& folder) {
  std::vector<FileTensor> tensors;
  const SafetensorsSource source({folder + "/model.safetensors"});
  for (const TensorInfo& info : source.tensors()) {
    tensors.push_back({info.name, info.shape, file_name_of(info.dtype)});
  }
  return tensors;
}

nlohmann::json config_of(const std::string& folder) {
  return nlohmann::json::parse(read_bytes(folder + "/config.json"));
}

void write_model(const std::string& folder, const nlohmann::json& config,
                 const std::vector<FileTensor>& tensors) {
  std::filesystem::create_directories(folder);
  write_bytes(folder + "/config.json", config.dump(1));
  write_bytes(folder + "/model.safetensors", safetensors_file(tensors));
}

Error error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "none", {});
}

Error open_error(const std::string& model, Strictness strictness) {
  return error_of([&] {
    Warnings warnings;
    open_checkpoint(model, {.strictness = strictness}, warnings);
  });
}

}  // namespace attnscope::testing
