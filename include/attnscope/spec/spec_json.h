// File: spec_json.h
// Specs as JSON: one flat object whose keys are the long option names with '_' for '-'. Writing and
// reading back gives an equal spec. A value that is not valid UTF-8 (a path) is written as
// {"hex": "…"}.
//
// The front executable sends an Envelope to the runner:
//   {"verb": "capture", "spec": {…}, "command_line": ["attnscope", "capture", …]}
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnscope/spec/capture_spec.h"
#include "attnscope/spec/experiment_specs.h"
#include "attnscope/spec/file_specs.h"
#include "attnscope/spec/model_specs.h"

namespace attnscope {

using AnySpec = std::variant<CaptureSpec, DemoSpec, DoctorSpec, InspectSpec, TokenizeSpec,
                             StatsSpec, ShowSpec, ExportSpec, VerifySpec, MergeSpec, DiffSpec,
                             ViewSpec, AblateSpec, PatchSpec, VerdictSpec, LensSpec>;

// "capture", "demo", …
template <typename Spec>
std::string verb_of();

// The functions below are defined for every type of AnySpec.
template <typename Spec>
std::string spec_to_json(const Spec& spec);
// Keys that are absent keep their default. Throws Error SP01 (exit 2): `where`, the key, what was
// expected; an unknown key is named with the nearest known one.
template <typename Spec>
Spec spec_from_json(std::string_view json, const std::string& where);
// Reads --spec FILE. The result is not validated yet: flags may follow.
template <typename Spec>
Spec load_spec_file(const std::string& path);

// The JSON Schema (2020-12) of a spec's file: each key with its type, its choices and its default.
template <typename Spec>
std::string spec_schema();

struct Envelope {
  AnySpec spec;
  std::vector<std::string> command_line;
  bool operator==(const Envelope&) const = default;
};

std::string envelope_to_json(const Envelope& envelope);
Envelope envelope_from_json(std::string_view json, const std::string& where);

// What a result file keeps of a spec (options_json): every option that can change the content, with
// sorted keys. Left out: out, resume, force, quiet, json, dry_run, budget and shard, and paths,
// which stand in the file by the SHA-256 of what they name.
template <typename Spec>
std::string resolved_options_json(const Spec& spec);

// SHA-256 of the resolved options and the hashes of the inputs (model files, prompt file), in the
// order given. Two runs with the same value write the same bytes.
template <typename Spec>
std::string config_hash(const Spec& spec, const std::vector<std::string>& input_hashes);

// Names of the keys in which two resolved options differ, e.g. {"top_k"}.
std::vector<std::string> differing_keys(std::string_view resolved_a, std::string_view resolved_b);

}  // namespace attnscope
