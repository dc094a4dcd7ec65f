// File: file_specs.h
// Options of the verbs that only read result files: stats, show, export, verify, merge, diff, view.
#pragma once

#include <string>
#include <vector>

#include "attnscope/spec/choices.h"

namespace attnscope {

struct StatsSpec {
  std::string file;
  std::string sort;       // --sort: a head statistic, of captures only; empty = induction
  std::string prompt_id;  // --prompt-id, of captures and lenses; empty = the mean over prompts
  int top = 10;           // --top: heads, or units of an experiment, listed by name
  bool json = false;

  bool operator==(const StatsSpec&) const = default;
};

struct ShowSpec {
  std::string file;
  std::string head;                     // --head 5.1
  std::string prompt_id;                // --prompt-id; empty = the first
  MapChoice hook = MapChoice::pattern;  // --hook
  bool json = false;

  bool operator==(const ShowSpec&) const = default;
};

struct ExportSpec {
  std::string file;
  std::string out;                                // -o/--out
  std::string head;                               // --head 5.1, or
  std::string heads;                              // --heads: a grid of heads
  std::string prompt_id;                          // --prompt-id
  MapChoice hook = MapChoice::pattern;            // --hook
  FigureChoice figure = FigureChoice::none;       // --figure: of an experiment
  std::string experiment;                         // --experiment; empty = the first with effects
  std::string method;                             // --method; empty = the first
  std::string measure;                            // --measure of attention; empty = the first
  ExportFormat format = ExportFormat::automatic;  // --format; automatic = by the name of `out`
  bool force = false;
  bool json = false;

  bool operator==(const ExportSpec&) const = default;
};

struct VerifySpec {
  std::string file;
  bool json = false;

  bool operator==(const VerifySpec&) const = default;
};

struct MergeSpec {
  std::vector<std::string> files;
  std::string out;
  bool force = false;
  bool json = false;

  bool operator==(const MergeSpec&) const = default;
};

struct DiffSpec {
  std::string left;
  std::string right;
  std::string out;  // -o/--out; empty = print only
  bool force = false;
  bool json = false;

  bool operator==(const DiffSpec&) const = default;
};

struct ViewSpec {
  std::vector<std::string> files;
  std::string host = "127.0.0.1";  // --host
  int port = -1;                   // --port; -1 = 8765, or the next that is free
  bool open = true;                // --no-open
  std::string html;                // --html: write a page in place of serving one
  bool force = false;

  bool operator==(const ViewSpec&) const = default;
};

// Throw Error SP03 (exit 2) that names the option.
void validate(const StatsSpec& spec);
void validate(const ShowSpec& spec);
void validate(const ExportSpec& spec);
void validate(const VerifySpec& spec);
void validate(const MergeSpec& spec);
void validate(const DiffSpec& spec);
void validate(const ViewSpec& spec);

}  // namespace attnscope
