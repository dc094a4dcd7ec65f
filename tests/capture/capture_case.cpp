#include "capture_case.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "attnscope/support/philox.h"
#include "testing/fixtures.h"

namespace attnscope::testing {

CaptureSpec spec_for(const std::string& model, const std::string& out) {
  CaptureSpec spec;
  spec.model = fixture(model);
  spec.output.out = out;
  spec.compute.device = "cpu";
  return spec;
}

void write_id_prompts(const std::string& path, const std::vector<int>& lengths, int vocab) {
  std::ofstream file(path);
  for (std::size_t p = 0; p < lengths.size(); ++p) {
    Philox random(7, p);
    file << "{\"group\": \"g" << p % 5 << "\", \"ids\": [";
    for (int i = 0; i < lengths[p]; ++i) {
      file << (i == 0 ? "" : ",") << random.below(static_cast<std::uint32_t>(vocab));
    }
    file << "]}\n";
  }
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_number(const std::string& path, int value) {
  std::ofstream(path) << value;
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

Caught caught(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.exit_code(), error.what()};
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace attnscope::testing
