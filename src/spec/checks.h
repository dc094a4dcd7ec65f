// File: checks.h
// What validate() checks of several specs. Every function throws Error SP03 (exit 2) that names the
// option.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/spec/capture_spec.h"

namespace attnscope::spec_checks {

inline constexpr int kMaxThreads = 1024;

[[noreturn]] void refuse(std::string option, std::string what, std::string expected = "",
                         std::string got = "", std::string next = "");

void require(const std::string& value, const char* option, const char* next);
void require_model(const std::string& model);
void check_range(std::int64_t value, std::int64_t low, std::int64_t high, const char* option);
// run.h5 has run.json beside it; another ending would let two results share one companion.
void check_result_name(const std::string& out);
void check_device(const std::string& device);
// What no model could accept: an empty part of a list. The rest waits for the model.
void check_list(const std::string& list, const char* option);
// Names that stand for cells of a sweep: each once, also those that are joined by "+".
void check_names(const std::string& list, const char* option);
void check_text(const std::optional<std::string>& text, const char* option, InvalidUtf8 policy);
void check_compute(const ComputeOptions& compute);
void check_shard(const ShardChoice& shard);
void check_resume(const DeliveryOptions& output);

}  // namespace attnscope::spec_checks
