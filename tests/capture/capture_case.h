// File: capture_case.h
// What the tests of capture share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attnscope/capture/capture.h"
#include "attnscope/storage/reader.h"
#include "attnscope/support/error.h"

namespace attnscope::testing {

// A capture of a fixture model: "models/tiny-random-gpt2", "families/llama" …
CaptureSpec spec_for(const std::string& model, const std::string& out);

// Writes one line of .jsonl a prompt, token ids below `vocab` by Philox; lengths from `lengths`.
void write_id_prompts(const std::string& path, const std::vector<int>& lengths, int vocab);

// All bytes of a file.
std::string bytes_of(const std::string& path);
bool exists(const std::string& path);
void write_number(const std::string& path, int value);

// The error that `work` throws; fails the test if it throws none.
struct Caught {
  int exit_code = 0;
  std::string message;
};
Caught caught(const std::function<void()>& work);

}  // namespace attnscope::testing
