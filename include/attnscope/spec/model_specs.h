// File: model_specs.h
// Options of the verbs about a model or this machine: demo, doctor, inspect, tokenize.
#pragma once

#include <string>

#include "attnscope/spec/capture_spec.h"

namespace attnscope {

struct DemoSpec {
  std::string out;  // -o/--out: folder to write into; empty = ./attnscope-demo
  bool force = false;
  bool quiet = false;
  bool json = false;
  int threads = 0;

  bool operator==(const DemoSpec&) const = default;
};

struct DoctorSpec {
  std::string model;  // -m/--model: also check the sums of every layer on this model; may be empty
  std::string device = "auto";
  int threads = 0;
  bool strict = false;
  bool json = false;

  bool operator==(const DoctorSpec&) const = default;
};

struct InspectSpec {
  std::string model;
  int tokens = 0;  // --tokens: memory estimate for this many; 0 = the context length
  bool strict = false;
  bool json = false;

  bool operator==(const InspectSpec&) const = default;
};

struct TokenizeSpec {
  std::string model;
  PromptSource prompts;
  EncodingOptions encoding;
  bool no_special = false;  // --no-special
  bool json = false;

  bool operator==(const TokenizeSpec&) const = default;
};

// Throw Error SP03 (exit 2) that names the option.
void validate(const DemoSpec& spec);
void validate(const DoctorSpec& spec);
void validate(const InspectSpec& spec);
void validate(const TokenizeSpec& spec);

}  // namespace attnscope
