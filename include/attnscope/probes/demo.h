// File: demo.h
// A tour in four steps: two captures of a small trained model, one of a model built by hand whose
// circuit is known, and a test of what a loud head and an induction head are worth. It writes
// capture files and pictures, and tells what they show with the numbers of this run.
//
// Example:
//   DemoContext context{.style = terminal_style_of(STDOUT_FILENO)};
//   const DemoResult result = run_demo({.out = "attnscope-demo"}, context);
//   std::cout << result.story;
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/render/terminal.h"
#include "attnscope/sites/selectors.h"
#include "attnscope/spec/model_specs.h"

namespace attnscope {

struct DemoContext {
  std::vector<std::string> command_line;    // for the files' .json
  const std::atomic<bool>* stop = nullptr;  // set by a signal handler: give up soon
  TerminalStyle style;                      // of the maps in the story
  // Each part of the story as soon as it is known; may be empty.
  std::function<void(std::string_view)> say;
};

// One head of one model: how loud it is, and what silencing it changes.
struct DemoHead {
  HeadId head;
  double loudness = 0;   // largest share of the head's attention that one token receives, in [0, 1]
  double induction = 0;  // mass on the token after an earlier copy; NaN where undefined
  double before = 0;     // logit difference of the whole model
  double after = 0;      // with the head's z set to zero
  double change() const { return after - before; }
};

struct DemoResult {
  std::string folder;
  std::vector<std::string> files;      // names inside the folder, in the order they were written
  std::string answer_to_list;          // what the trained model says next, e.g. " river"
  std::string answer_to_sentence;      // " Anna"
  std::vector<DemoHead> trained;       // all heads of the trained model, on the list
  std::vector<DemoHead> known_answer;  // all heads of the model built by hand
  std::string story;                   // everything that was said
};

// Writes into spec.out (default "attnscope-demo"). Throws Error: DM01 (exit 3) when the folder has
// files of that name and `force` is off, DM02 (exit 3) when the demo's model was not installed
// beside the program, and what a capture throws.
DemoResult run_demo(const DemoSpec& spec, const DemoContext& context);

// The result as one JSON object, without the story.
std::string to_json(const DemoResult& result);

// Where the demo's model and pairs lie: ../share/attnscope/demo, seen from the running program.
std::string demo_data_folder();

}  // namespace attnscope
