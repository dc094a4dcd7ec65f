// File: run_choices.h
// What the options of every verb that runs a model choose of it and of its output.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model.h"
#include "attnscope/spec/capture_spec.h"
#include "attnscope/storage/output.h"

namespace attnscope {

DType load_dtype(ComputeDType dtype);
Engine engine_of(EngineChoice choice);
IfExists if_exists(const DeliveryOptions& delivery);
inline Strictness strictness_of(bool strict) {
  return strict ? Strictness::strict : Strictness::lenient;
}

// 0 where there is no such file.
std::uint64_t file_size(const std::string& path);

}  // namespace attnscope
