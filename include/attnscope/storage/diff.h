// File: diff.h
// Compares two captures of the same tokens (two models, two checkpoints).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/sites/site.h"
#include "attnscope/storage/output.h"
#include "attnscope/storage/reader.h"

namespace attnscope {

// One site and head over all prompts; head is −1 at sites without a head axis.
struct SiteChange {
  HookId hook;
  std::int64_t head = -1;
  double largest = 0;          // max |b − a|
  double mean = 0;             // mean |b − a|
  std::int64_t values = 0;     // compared; equal infinities count as no change
  std::int64_t undefined = 0;  // NaN in exactly one of the two, or an infinity against a number
};

struct DiffResult {
  std::vector<SiteChange> changes;  // forward order, heads ascending
  std::vector<std::string> only_a;  // hooks stored in one file only
  std::vector<std::string> only_b;
  std::vector<std::string> other_shape;  // in both, but not comparable
};

// Throws (exit 2) if the token ids differ, showing the first difference.
DiffResult diff_files(const CaptureReader& a, const CaptureReader& b);

// Stores the result as a file of kind diff. Returns its SHA-256.
std::string write_diff(const DiffResult& result, const CaptureReader& a, const CaptureReader& b,
                       const std::string& path, IfExists if_exists);

}  // namespace attnscope
