#include <string>
#include <utility>

#include "attnscope/spec/file_specs.h"
#include "attnscope/spec/model_specs.h"
#include "attnscope/support/file.h"
#include "checks.h"

namespace attnscope {

using namespace spec_checks;  // NOLINT

namespace {

void check_encoding(const PromptSource& prompts, const EncodingOptions& encoding) {
  if (prompts.ids && encoding.chat != ChatChoice::none) {
    refuse("--chat", "needs text", "--prompt or --prompts", "--ids");
  }
  if (prompts.ids && encoding.bos != BosMode::automatic) {
    refuse("--bos", "needs text; ids are taken as they are", "--prompt or --prompts", "--ids");
  }
  if (prompts.pair && encoding.chat != ChatChoice::none) {
    refuse("--chat", "cannot be used with --prompt-pair");
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
  if (s.stats_only && !s.heads.empty()) {
    refuse("--stats-only", "keeps statistics of every head, leave --heads out");
  }
  if (s.stats_only && !s.positions.empty()) {
    refuse("--stats-only", "takes statistics over all rows, leave --positions out");
  }
  check_list(s.layers, "--layers");
  check_list(s.heads, "--heads");
  check_range(s.top_k, 1, 1024, "--topk");
  check_compute(s.compute);
  check_shard(s.shard);
  check_resume(s.output);
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
  check_range(s.top, 0, 100'000, "--top");
}

void validate(const ShowSpec& s) {
  require(s.file, "FILE", "e.g. show run.h5 --head 5.1");
  require(s.head, "--head", "e.g. --head 5.1");
}

void validate(const ExportSpec& s) {
  require(s.file, "FILE", "e.g. export run.h5 --head 5.1 -o head.png");
  require(s.out, "--out", "name the file to write: -o head.png");
  const bool figure = s.figure != FigureChoice::none;
  const int subjects = (s.head.empty() ? 0 : 1) + (s.heads.empty() ? 0 : 1) + (figure ? 1 : 0);
  if (subjects != 1) {
    refuse("--head", subjects == 0 ? "nothing to export" : "several things to export",
           "one of --head, --heads, --figure");
  }
  for (const auto& [option, value] : {std::pair{"--experiment", &s.experiment},
                                      {"--method", &s.method},
                                      {"--measure", &s.measure}}) {
    if (!figure && !value->empty()) refuse(option, "it is about an experiment", "with --figure");
  }
  if (figure && !s.prompt_id.empty()) {
    refuse("--prompt-id", "a figure shows all prompts", "with --head or --heads");
  }
  if (figure && s.hook != MapChoice::pattern) {
    refuse("--hook", "a figure shows no map", "with --head or --heads");
  }
  if (figure && s.figure != FigureChoice::scatter && !s.measure.empty()) {
    refuse("--measure", "only a scatter plot shows attention", "with --figure scatter");
  }
  if (s.figure == FigureChoice::scatter && s.format == ExportFormat::npy) {
    refuse("--format", "a scatter plot is no array", "csv, png or svg", "npy");
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

void validate(const ViewSpec& s) {
  if (s.files.empty()) refuse("FILE", "no file given", "", "", "e.g. view run.h5");
  check_range(s.port, -1, 65535, "--port");
  if (!s.html.empty() && (s.port != -1 || !s.open || s.host != ViewSpec().host)) {
    refuse("--html", "writes a page and serves none", "it without --port, --host and --no-open");
  }
  if (s.html.empty() && s.force) refuse("--force", "there is nothing to replace", "with --html");
  check_output_is_no_input(s.html, s.files);
}

}  // namespace attnscope
