// File: checkpoint_files.h
// Small checkpoints written for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/support/error.h"

namespace attnscope::testing {

// One tensor of a file to be written; its bytes are zero.
struct FileTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string dtype = "F32";
};

// The bytes of a safetensors file: length, `header` as it stands, then `data`.
std::string safetensors_bytes(const std::string& header, const std::string& data = "");
// A well-formed file.
std::string safetensors_file(const std::vector<FileTensor>& tensors);

void write_bytes(const std::string& path, const std::string& bytes);
std::string read_bytes(const std::string& path);

// Every tensor of a model folder's model.safetensors.
std::vector<FileTensor> tensors_of(const std::string& folder);

nlohmann::json config_of(const std::string& folder);

// Writes config.json and model.safetensors into `folder`, which is made.
void write_model(const std::string& folder, const nlohmann::json& config,
                 const std::vector<FileTensor>& tensors);

// Runs `work` and returns the error it throws; a test failure when it throws none.
Error error_of(const std::function<void()>& work);
Error open_error(const std::string& model, Strictness strictness = Strictness::lenient);

}  // namespace attnscope::testing
