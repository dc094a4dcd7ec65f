#include "attnscope/capture/run_choices.h"

#include <sys/stat.h>

namespace attnscope {

DType load_dtype(ComputeDType dtype) {
  switch (dtype) {
    case ComputeDType::f64:
      return DType::f64;
    case ComputeDType::bf16:
      return DType::bf16;
    case ComputeDType::f16:
      return DType::f16;
    case ComputeDType::f32:
      break;
  }
  return DType::f32;
}

Engine engine_of(EngineChoice choice) {
  switch (choice) {
    case EngineChoice::reference:
      return Engine::reference;
    case EngineChoice::aten:
      return Engine::aten;
    case EngineChoice::cpu_tiled:
      return Engine::cpu_tiled;
    case EngineChoice::cuda:
      return Engine::cuda;
    case EngineChoice::automatic:
      break;
  }
  return Engine::automatic;
}

IfExists if_exists(const DeliveryOptions& delivery) {
  if (delivery.force) return IfExists::force;
  return delivery.resume ? IfExists::resume : IfExists::refuse;
}

TokenRow token_row(const EncodedPrompt& prompt, const ModelConfig& config) {
  TokenRow row{.ids = prompt.ids, .token_types = {}, .position_ids = {}};
  if (config.token_types > 0) row.token_types = prompt.token_types;
  return row;
}

std::uint64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

}  // namespace attnscope
