#include <nlohmann/json.hpp>

#include "attnscope/probes/demo.h"

namespace attnscope {
namespace {

// NaN is written as null.
nlohmann::ordered_json heads_json(const std::vector<DemoHead>& heads) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DemoHead& head : heads) {
    list.push_back({{"head", head_name(head.head)},
                    {"loudness", head.loudness},
                    {"induction", head.induction},
                    {"before", head.before},
                    {"after", head.after},
                    {"change", head.change()}});
  }
  return list;
}

}  // namespace

std::string to_json(const DemoResult& result) {
  const nlohmann::ordered_json json = {{"folder", result.folder},
                                       {"files", result.files},
                                       {"answer_to_list", result.answer_to_list},
                                       {"answer_to_sentence", result.answer_to_sentence},
                                       {"trained", heads_json(result.trained)},
                                       {"known_answer", heads_json(result.known_answer)}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace attnscope
