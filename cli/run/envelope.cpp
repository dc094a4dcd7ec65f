#include "run/envelope.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "attnscope/support/error.h"

namespace attnscope::run {
namespace {

constexpr int kEnvelopeDescriptor = 3;
constexpr off_t kMaxBytes = 256 << 20;

}  // namespace

Envelope read_envelope() {
  struct stat info {};
  const bool passed = ::fstat(kEnvelopeDescriptor, &info) == 0 && S_ISREG(info.st_mode) &&
                      info.st_size > 0 && info.st_size < kMaxBytes;
  if (!passed) {
    throw Error(ErrorKind::input, "RU01",
                {.where = "attnscope-run",
                 .what = "no spec was passed",
                 .next = "use attnscope, which starts this program"});
  }
  std::string json(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < json.size()) {
    const ssize_t n = ::pread(kEnvelopeDescriptor, json.data() + done, json.size() - done,
                              static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  json.resize(done);
  ::close(kEnvelopeDescriptor);
  return envelope_from_json(json, "spec");
}

}  // namespace attnscope::run
