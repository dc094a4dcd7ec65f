// File: verify_parts.h
// The checks of verify.h that look at numbers, one function a part of the schema.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/reader.h"
#include "attnscope/storage/verify.h"

namespace attnscope::storage_detail {

// An Error thrown by `check` becomes a finding about `path`, so that one damaged dataset does not
// hide the others.
void note_errors(const std::string& path, std::vector<Finding>& findings,
                 const std::function<void()>& check);

void check_header(const h5::Group& root, std::vector<Finding>& findings);
void check_prompts(const CaptureReader& reader, const h5::Group& root,
                   std::vector<Finding>& findings);
// Axes, intervals, p values, counts and verdicts of every record below /experiments.
void check_experiments(const CaptureReader& reader, std::vector<Finding>& findings);
void check_statistics(const CaptureReader& reader, int prompt, std::vector<Finding>& findings);

}  // namespace attnscope::storage_detail
