// The words of the demo. Every number in them is handed in.
#pragma once

#include <string>
#include <vector>

#include "attnscope/probes/demo.h"
#include "attnscope/storage/reader.h"
#include "measure.h"

namespace attnscope::demo {

struct ListFacts {
  std::string prompt;
  std::string answer;    // what the model says next
  std::string followed;  // what followed the last word where it stood first
  double probability = 0;
  DemoHead head;   // the one with most induction
  int others = 0;  // further heads with induction above one half
  const CaptureReader* file = nullptr;
};
std::string tell_list(const ListFacts& facts, const TerminalStyle& style);

struct SentenceFacts {
  std::string prompt;
  std::string answer;           // what the model says next
  std::string receiver, giver;  // the right next word and the wrong one
  double probability = 0, giver_probability = 0;
  Look look;  // from the last token at the receiver's name
};
std::string tell_sentence(const SentenceFacts& facts);

// `truth` are the known heads in the order of `heads`, in words.
std::string tell_known_answer(const std::vector<DemoHead>& heads,
                              const std::vector<std::string>& truth);

struct TrainedFacts {
  const std::vector<DemoHead>& heads;
  std::string answer, other;
  int induction_heads = 0;  // with induction above one half
  double all_silenced = 0;  // logit difference with all of them silenced at once
};
std::string tell_trained_test(const TrainedFacts& facts);

std::string tell_end(const DemoResult& result, const std::string& model_folder, HeadId head);

}  // namespace attnscope::demo
