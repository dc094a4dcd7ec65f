#include "attnscope/storage/verify.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "attnscope/storage/output.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "commit.h"
#include "guard.h"
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

void check_sidecar(const std::string& path, std::vector<Finding>& findings) {
  const std::string sidecar = sidecar_path(path);
  struct stat info {};
  if (sidecar == path || ::stat(sidecar.c_str(), &info) != 0) return;
  const auto json = parse_json(read_text_file(sidecar, "SV01", kMaxSidecarBytes), sidecar, "SV01");
  const std::string expected = JsonObject(json, sidecar, "SV01").string_or(kSidecarHashKey, "");
  if (expected.empty()) return;
  const std::string got = hash_of_file(path);
  if (got != expected) findings.push_back({"", "SHA-256 of the file", expected, got});
}

// Attributes, labels and checksum of every dataset.
void check_dataset(const h5::Dataset& dataset, std::vector<Finding>& findings) {
  const auto add = [&](const std::string& what, const std::string& expected,
                       const std::string& got) {
    findings.push_back({dataset.path(), what, expected, got});
  };
  for (const char* name : {"site", "dims", "sha256"}) {
    if (!dataset.text(name)) add(std::string("attribute ") + name, "text", "none");
  }
  if (!dataset.integer("layer")) add("attribute layer", "an integer", "none");
  const std::vector<std::string> labels = dataset.labels();
  if (labels.size() != dataset.dims().size()) {
    add("dimension labels", std::to_string(dataset.dims().size()), std::to_string(labels.size()));
  }
  if (dataset.text("dims").value_or("") != join(labels, " ")) {
    add("dimension labels and attribute dims", quote(dataset.text("dims").value_or("")),
        quote(join(labels, " ")));
  }
  const std::string expected = dataset.text("sha256").value_or("");
  const std::string got = dataset.sha256();
  if (got != expected) add("SHA-256", expected, got);
}

void check_below(const h5::Group& group, std::vector<Finding>& findings) {
  for (const std::string& name : group.names()) {
    if (group.is_group(name)) {
      check_below(group.open_group(name), findings);
      continue;
    }
    note_errors(group.path() + "/" + name, findings,
                [&] { check_dataset(group.open_dataset(name), findings); });
  }
}

std::vector<Finding> check_file(const std::string& path) {
  std::vector<Finding> findings;
  const CaptureReader reader(path, {.trust = Trust::own});
  const h5::File file = h5::File::open(path);
  check_sidecar(path, findings);
  check_below(file.root(), findings);
  check_header(file.root(), findings);
  check_prompts(reader, file.root(), findings);
  for (int prompt = 0; prompt < reader.prompts(); ++prompt) {
    note_errors("/prompts/" + prompt_group_name(prompt), findings, [&] {
      check_maps(reader, prompt, findings);
      check_statistics(reader, prompt, findings);
    });
  }
  return findings;
}

}  // namespace

std::string describe(const Finding& finding) {
  std::string text = escape_untrusted(finding.path, 300);
  text += (text.empty() ? "" : ": ") + finding.what;
  if (!finding.expected.empty()) text += "; expected " + finding.expected;
  if (!finding.got.empty()) text += (finding.expected.empty() ? "; got " : ", got ") + finding.got;
  return text;
}

std::vector<Finding> verify_file(const std::string& path, const ReaderOptions& options) {
  if (options.trust == Trust::own) return check_file(path);
  const GuardLimits limits{.seconds =
                               kSeconds + static_cast<unsigned>(file_size(path) / kBytesPerSecond)};
  const std::string answer = run_guarded(path, limits, [&path] {
    nlohmann::json list = nlohmann::json::array();
    for (const Finding& f : check_file(path)) list.push_back({f.path, f.what, f.expected, f.got});
    return list.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  });
  std::vector<Finding> findings;
  for (const auto& f : nlohmann::json::parse(answer)) {
    findings.push_back({f[0].get<std::string>(), f[1].get<std::string>(), f[2].get<std::string>(),
                        f[3].get<std::string>()});
  }
  return findings;
}

}  // namespace attnscope
