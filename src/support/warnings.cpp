#include "attnscope/support/warnings.h"

#include <algorithm>
#include <utility>

namespace attnscope {

void Warnings::add(std::string line) {
  if (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) {
    lines_.push_back(std::move(line));
  }
}

}  // namespace attnscope
