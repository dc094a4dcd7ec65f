// File: checkpoint.h
// A model folder (or a custom model's JSON) opened and checked, with no tensor read yet.
//
// Example:
//   Warnings warnings;
//   const Checkpoint checkpoint = open_checkpoint("path/to/folder", {}, warnings);
//   checkpoint.config.n_layers;
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/checkpoint/tensor_map.h"
#include "attnscope/support/warnings.h"

namespace attnscope {

struct TensorInfo {
  std::string name;
  DType dtype{};
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

// Named raw tensors: the safetensors files of a folder, or arrays in memory.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  // Null when there is no such tensor.
  virtual const TensorInfo* find(const std::string& name) const = 0;
  // Copies the tensor's bytes in file order; `bytes` must be TensorInfo::bytes. Safe to call from
  // several threads at once.
  void read(const TensorInfo& tensor, void* out, std::uint64_t bytes) const;
  // Copies `bytes` bytes from byte `offset` of the tensor on, for conversions that must not hold a
  // tensor twice. Safe to call from several threads at once.
  virtual void read_part(const TensorInfo& tensor, std::uint64_t offset, void* out,
                         std::uint64_t bytes) const = 0;
};

enum class Strictness { lenient, strict };

struct OpenOptions {
  // strict: an unexpected tensor or a non-finite weight is an error instead of a warning.
  Strictness strictness = Strictness::lenient;
};

struct Checkpoint {
  ModelConfig config;
  TensorMap map;  // names resolved to those in the files; absent optional bindings are left out
  std::shared_ptr<const TensorSource> tensors;
  std::string folder;  // folder that holds the files; empty for a model in memory
  std::vector<std::string> weight_files;
  std::string tokenizer_json;    // path, or empty
  std::string tokenizer_config;  // path, or empty
};

// Opens a model by any form that -m takes: a folder, a custom model's FILE.json, a cache folder
// models--org--name, or org/name in the local Hugging Face cache. Checks the configuration, the
// header of every weight file, and that every tensor is mapped, known as unused, or a tied twin.
// Throws Error (exit 2) naming file and cause; formats that are not read (.bin, .pt, GGUF,
// quantised, LoRA) are refused with a way to convert them.
Checkpoint open_checkpoint(const std::string& model, const OpenOptions& options,
                           Warnings& warnings);

// "gpt2, gpt_neox, llama, …", for messages and help.
std::string supported_families();

}  // namespace attnscope
