// File: provenance.h
// What a result says about where it came from: in the file what decides its bytes, in OUT.json the
// rest.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/capture/capture.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/data/prompt_reader.h"
#include "attnscope/storage/schema.h"

namespace attnscope {

struct InputHashes {
  std::string config;     // of config.json
  std::string weights;    // of the weight file; of several, of the list "HASH  NAME\n" by name
  std::string tokenizer;  // of tokenizer.json; empty without one
  std::string prompts;    // of the prompt file; empty without one
  std::vector<std::pair<std::string, std::string>> files;  // path, hash
};

InputHashes hash_inputs(const Checkpoint& checkpoint, const std::string& prompts_sha256);

// The spec with every "auto" replaced by what it became.
CaptureSpec resolve(const CaptureSpec& spec, const CapturePlan& plan, const std::string& device,
                    int threads);

std::string run_id(const CaptureSpec& resolved, const InputHashes& hashes);
FileInfo file_info(const std::string& run_id);
ModelInfo model_info(const Checkpoint& checkpoint, const InputHashes& hashes);
RunInfo run_info(const CaptureSpec& resolved);
// What must be equal for a run to be resumed, as one JSON object.
std::string resume_json(const CaptureSpec& resolved, const InputHashes& hashes);

struct RunTimes {
  std::string started;  // UTC, "2026-01-31T12:00:00Z"
  std::string finished;
};
std::string utc_now();

// The text of OUT.json.
std::string sidecar_json(const CaptureSpec& resolved, const CaptureResult& result,
                         const InputHashes& hashes, const CaptureContext& context,
                         const std::vector<SkippedLine>& skipped, const RunTimes& times);

}  // namespace attnscope
