#include "attnscope/storage/verify.h"

#include <sys/stat.h>

#include <future>
#include <nlohmann/json.hpp>

#include "attnscope/storage/output.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "commit.h"
#include "guard.h"
#include "verify_datasets.h"
#include "verify_parts.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

constexpr std::uint64_t kMaxSidecarBytes = 64U << 20U;
// A slow disk and a slow machine; a hostile file gets no longer than this.
constexpr std::uint64_t kBytesPerSecond = 10U << 20U;
constexpr unsigned kSeconds = 60;

std::uint64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// The file's own hash against the one in OUT.json, computed beside the other checks.
class FileHash {
 public:
  explicit FileHash(const std::string& path) : sidecar_(sidecar_path(path)) {
    const std::string name = escape_untrusted(sidecar_.substr(sidecar_.rfind('/') + 1), 300) + " ";
    struct stat info {};
    if (sidecar_ == path || ::stat(sidecar_.c_str(), &info) != 0) {
      note_ = "no " + name + "beside it: ";
      return;
    }
    const auto json =
        parse_json(read_text_file(sidecar_, "SV01", kMaxSidecarBytes), sidecar_, "SV01");
    expected_ = JsonObject(json, sidecar_, "SV01").string_or(kSidecarHashKey, "");
    if (expected_.empty()) {
      note_ = name + "holds no hash: ";
      return;
    }
    got_ = hash_of_file(path);
  }

  void finish(Verification& result) {
    if (!got_.valid()) {
      result.notes.push_back(note_ +
                             "the file's own hash was not checked; attributes were read, but have "
                             "no hash of their own");
      return;
    }
    const std::string got = got_.get();
    if (got != expected_) {
      result.findings.push_back({"", "SHA-256 of the file", expected_, got});
    }
  }

 private:
  std::string sidecar_;
  std::string expected_;
  std::string note_;  // why nothing is compared
  std::future<std::string> got_;
};

std::string count_text(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void note_nan(const DatasetVerifier& datasets, std::vector<std::string>& notes) {
  std::vector<std::string> where;
  if (datasets.nan_rows() > 0) {
    where.push_back(count_text(datasets.nan_rows(), "row") + " of attention maps");
  }
  if (datasets.nan_values() > 0) {
    where.push_back(count_text(datasets.nan_values(), "value") + " of other sites");
  }
  if (where.empty()) return;
  notes.push_back("NaN values present: " + join(where, ", ") +
                  "; they are stored as they were computed");
}

Verification check_file(const std::string& path) {
  Verification result;
  const CaptureReader reader(path, {.trust = Trust::own});
  const h5::File file = h5::File::open(path);
  FileHash hash(path);
  DatasetVerifier datasets(reader, result.findings);
  datasets.check_below(file.root());
  datasets.finish();
  check_header(file.root(), result.findings);
  check_prompts(reader, file.root(), result.findings);
  note_errors("/experiments", result.findings, [&] { check_experiments(reader, result.findings); });
  for (int prompt = 0; prompt < reader.prompts(); ++prompt) {
    note_errors("/prompts/" + prompt_group_name(prompt), result.findings,
                [&] { check_statistics(reader, prompt, result.findings); });
  }
  hash.finish(result);
  note_nan(datasets, result.notes);
  return result;
}

}  // namespace

std::string describe(const Finding& finding) {
  std::string text = escape_untrusted(finding.path, 300);
  text += (text.empty() ? "" : ": ") + finding.what;
  if (!finding.expected.empty()) text += "; expected " + finding.expected;
  if (!finding.got.empty()) text += (finding.expected.empty() ? "; got " : ", got ") + finding.got;
  return text;
}

Verification verify_file(const std::string& path, const ReaderOptions& options) {
  if (options.trust == Trust::own) return check_file(path);
  const GuardLimits limits{.seconds =
                               kSeconds + static_cast<unsigned>(file_size(path) / kBytesPerSecond)};
  const std::string answer = run_guarded(path, limits, [&path] {
    const Verification result = check_file(path);
    nlohmann::json list = nlohmann::json::array();
    for (const Finding& f : result.findings) list.push_back({f.path, f.what, f.expected, f.got});
    return nlohmann::json{{"findings", list}, {"notes", result.notes}}.dump(
        -1, ' ', true, nlohmann::json::error_handler_t::replace);
  });
  const nlohmann::json parsed = nlohmann::json::parse(answer);
  Verification result;
  for (const auto& f : parsed.at("findings")) {
    result.findings.push_back({f[0].get<std::string>(), f[1].get<std::string>(),
                               f[2].get<std::string>(), f[3].get<std::string>()});
  }
  for (const auto& note : parsed.at("notes")) result.notes.push_back(note.get<std::string>());
  return result;
}

}  // namespace attnscope
