#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "attnscope/spec/capture_spec.h"
#include "attnscope/spec/file_specs.h"
#include "attnscope/spec/model_specs.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse(std::string option, std::string what, std::string expected = "",
                         std::string got = "", std::string next = "") {
  throw Error(ErrorKind::input, "SP03",
              {.where = std::move(option),
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got),
               .next = std::move(next)});
}

void require(const std::string& value, const char* option, const char* next) {
  if (value.empty()) refuse(option, "is missing", "", "", next);
}

void check_range(std::int64_t value, std::int64_t low, std::int64_t high, const char* option) {
  if (value >= low && value <= high) return;
  refuse(option, "out of range", std::to_string(low) + " to " + std::to_string(high),
         std::to_string(value));
}

// run.h5 has run.json beside it; another ending would let two results share one companion.
void check_result_name(const std::string& out) {
  static constexpr std::string_view kEnding = ".h5";
  const std::string name = out.substr(out.rfind('/') + 1);
  if (out.empty() || (name.ends_with(kEnding) && name.size() > kEnding.size())) return;
  refuse("--out", "not a name for a result file", "a name that ends in .h5", quote(out));
}

void require_model(const std::string& model) {
  require(model, "--model", "give a model folder: -m DIR");
}

void check_device(const std::string& device) {
  if (device == "auto" || device == "cpu" || device == "cuda") return;
  const bool numbered = device.starts_with("cuda:");
  const auto index = numbered ? parse_integer(std::string_view(device).substr(5)) : std::nullopt;
  if (index && *index >= 0 && *index < 256) return;
  refuse("--device", "unknown device", "auto, cpu, cuda or cuda:N", quote(device));
}

constexpr int kMaxThreads = 1024;

// What no model could accept: an empty part of a list. The rest waits for the model.
void check_list(const std::string& list, const char* option) {
  if (list.empty()) return;
  for (const std::string& part : split(list, ',')) {
    if (trim(part).empty()) refuse(option, "an empty part in the list", "", quote(list));
  }
}

void check_encoding(const PromptSource& prompts, const EncodingOptions& encoding) {
  if (prompts.ids && encoding.chat != ChatChoice::none) {
    refuse("--chat", "needs text", "--prompt or --prompts", "--ids");
  }
  if (prompts.pair && encoding.chat != ChatChoice::none) {
    refuse("--chat", "cannot be used with --prompt-pair");
  }
}

void check_text(const std::optional<std::string>& text, const char* option, InvalidUtf8 policy) {
  if (!text || policy == InvalidUtf8::replace) return;
  if (const auto bad = first_invalid_utf8(*text)) {
    refuse(option, "not valid UTF-8 at byte " + std::to_string(*bad), "", quote(*text),
           "--invalid-utf8 replace puts U+FFFD there");
  }
}

}  // namespace

void validate(const PromptSource& p) {
  const int sources = (p.prompt ? 1 : 0) + (p.ids ? 1 : 0) + (p.prompts_file.empty() ? 0 : 1);
  if (sources == 0) {
    refuse("--prompt", "no prompt given", "", "",
           "give --prompt TEXT, --prompts FILE or --ids LIST");
  }
  if (sources > 1) {
    refuse("--prompt", "several sources of prompts given", "one of --prompt, --prompts, --ids");
  }
  if (p.pair && !p.prompt) refuse("--prompt-pair", "needs --prompt");
  if (p.ids && p.ids->empty()) refuse("--ids", "the list is empty");
  if (!p.token_types.empty() && !p.ids) refuse("--token-types", "needs --ids");
  if (!p.token_types.empty() && p.token_types.size() != p.ids->size()) {
    refuse("--token-types", "not as many as --ids", std::to_string(p.ids->size()),
           std::to_string(p.token_types.size()));
  }
  if (p.skip_bad && p.prompts_file.empty()) refuse("--skip-bad", "needs --prompts");
}

void validate(const CaptureSpec& s) {
  require_model(s.model);
  validate(s.prompts);
  check_encoding(s.prompts, s.encoding);
  check_text(s.prompts.prompt, "--prompt", s.encoding.invalid_utf8);
  check_text(s.prompts.pair, "--prompt-pair", s.encoding.invalid_utf8);
  if (!s.output.dry_run) require(s.output.out, "--out", "name the result file: -o run.h5");
  check_result_name(s.output.out);
  check_list(s.hooks, "--hooks");
  if (s.stats_only && !s.hooks.empty()) refuse("--stats-only", "contradicts --hooks");
  check_list(s.layers, "--layers");
  check_list(s.heads, "--heads");
  check_range(s.top_k, 1, 1024, "--topk");
  check_device(s.compute.device);
  check_range(s.compute.threads, 0, kMaxThreads, "--threads");
  check_range(s.compute.batch, 0, 65536, "--batch");
  check_range(s.shard.count, 1, 1'000'000, "--shard");
  check_range(s.shard.index, 1, s.shard.count, "--shard");
  if (s.output.force && s.output.resume) {
    refuse("--resume", "contradicts --force", "", "",
           "--resume keeps what is there, --force starts anew");
  }
}

void validate(const DemoSpec& s) {
  check_range(s.threads, 0, kMaxThreads, "--threads");
}

void validate(const DoctorSpec& s) {
  check_device(s.device);
  check_range(s.threads, 0, kMaxThreads, "--threads");
}

void validate(const InspectSpec& s) {
  require(s.model, "MODEL", "give a model folder: inspect DIR");
  check_range(s.tokens, 0, 1 << 24, "--tokens");
}

void validate(const TokenizeSpec& s) {
  require_model(s.model);
  validate(s.prompts);
  check_encoding(s.prompts, s.encoding);
  check_text(s.prompts.prompt, "--prompt", s.encoding.invalid_utf8);
  check_text(s.prompts.pair, "--prompt-pair", s.encoding.invalid_utf8);
}

void validate(const StatsSpec& s) {
  require(s.file, "FILE", "e.g. stats run.h5");
  require(s.sort, "--sort", "e.g. --sort induction");
  check_range(s.top, 0, 100'000, "--top");
}

void validate(const ShowSpec& s) {
  require(s.file, "FILE", "e.g. show run.h5 --head 5.1");
  require(s.head, "--head", "e.g. --head 5.1");
}

void validate(const ExportSpec& s) {
  require(s.file, "FILE", "e.g. export run.h5 --head 5.1 -o head.png");
  require(s.out, "--out", "name the file to write: -o head.png");
  const int subjects = (s.head.empty() ? 0 : 1) + (s.heads.empty() ? 0 : 1);
  if (subjects != 1) {
    refuse("--head", subjects == 0 ? "nothing to export" : "several things to export",
           "one of --head, --heads");
  }
  check_output_is_no_input(s.out, {s.file});
}

void validate(const VerifySpec& s) {
  require(s.file, "FILE", "e.g. verify run.h5");
}

void validate(const MergeSpec& s) {
  if (s.files.size() < 2) {
    refuse("FILE", "merge needs at least two files", "", std::to_string(s.files.size()));
  }
  require(s.out, "--out", "name the result file: -o all.h5");
  check_result_name(s.out);
  check_output_is_no_input(s.out, s.files);
}

void validate(const DiffSpec& s) {
  require(s.left, "FILE", "e.g. diff a.h5 b.h5");
  require(s.right, "FILE", "e.g. diff a.h5 b.h5");
  check_result_name(s.out);
  check_output_is_no_input(s.out, {s.left, s.right});
}

}  // namespace attnscope
