// File: engine_cases.h
// Shapes, masks, variants and batches on which engines are compared, and the comparison.
#pragma once

#include <memory>
#include <vector>

#include "attnscope/model/model.h"
#include "recorder.h"
#include "tiny_model.h"

namespace attnscope::testing {

struct Variant {
  const char* name;
  TinyShape shape;
};

TinyShape base_shape();
std::vector<Variant> variants();

struct Batches {
  const char* name;
  Batch batch;
};

std::vector<Batches> batches();

struct Seen {
  at::Tensor hidden;
  Recorder maps{{Site::pattern, Site::z}};
  RunResult result;
};

struct Request {
  Engine engine = Engine::automatic;
  bool maps = true;
  bool statistics = true;
  std::vector<int> heads;  // of maps; empty = all
};

std::unique_ptr<Seen> run(const Model& model, const Batch& batch, const Request& request);

// Whether an engine can show maps of this batch.
bool shows_maps(Engine engine, const Batch& batch);

// Largest differences from the reference in float64.
struct Differences {
  double z = 0, pattern = 0, statistics = 0;

  void add(const Seen& ours, const Seen& oracle, const Batch& batch, bool maps);
};

}  // namespace attnscope::testing
