// File: progress.h
// How long work says how far it is. The command line draws it; no module prints by itself.
#pragma once

#include <cstdint>
#include <string>

namespace attnscope {

// Where work is not counted in tokens (cells of a sweep), its items stand in their place.
struct ProgressState {
  std::string stage;            // "2 of 4: effects given a removed head"; empty where there is one
  std::int64_t items_done = 0;  // prompts, cells …
  std::int64_t items_total = 0;
  std::int64_t tokens_done = 0;
  std::int64_t tokens_total = 0;
  double seconds = 0;  // since the work began
  double tokens_per_second =
      0;                    // of this process: work that was kept from an earlier run is not in
  double seconds_left = 0;  // an estimate from the tokens left; 0 = unknown
};

class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  // Called from the thread that computes; must return soon.
  virtual void update(const ProgressState& state) = 0;
};

}  // namespace attnscope
