// The half of capture that needs LibTorch: CaptureSpec → run_capture → what is in the file.
#include "attnscope/capture/capture.h"

#include <algorithm>

#include "attnscope/core/device.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "console/output.h"
#include "console/progress.h"
#include "run/signals.h"
#include "run/verbs.h"

namespace attnscope::run {
namespace {

constexpr int kTopHeads = 3;

// "pattern, z, resid_post", each once.
std::string site_names(const CapturePlan& plan) {
  std::vector<std::string> names;
  for (const HookPlan& hook : plan.hooks) {
    const std::string name = site_info(hook.hook.site).short_name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names.empty() ? "none" : join(names, ", ");
}

std::string top_heads_text(const HeadSummary& heads, HeadStat stat) {
  std::string text;
  for (const auto& head : heads.top(stat, kTopHeads)) {
    text += (text.empty() ? "" : ", ") + head_name(head.head) + " (" +
            format_number(head.value, 3) + ")";
  }
  return text;
}

std::string summary(const CaptureResult& result) {
  const CapturePlan& plan = result.plan;
  std::string text =
      "Wrote " + escape_untrusted(result.path, 4096) + " (" + format_bytes(result.file_bytes) +
      ") in " + format_number(result.seconds, 3) + " s: " + count_of(plan.part.count, "prompt") +
      ", " + count_of(plan.tokens, "token") + ", sites: " + site_names(plan) + ".\n" +
      "Computed on " + result.device + " in " + result.dtype + " by " + result.engine + " (" +
      result.engine_reason + "), " + count_of(result.threads, "thread") + ".\n";
  if (result.shards_kept > 0) {
    text += "Kept from an earlier run: " + count_of(result.shards_kept, "shard") + ".\n";
  }
  if (!result.heads.empty()) {
    for (const HeadStat stat : {HeadStat::induction, HeadStat::previous, HeadStat::sink}) {
      const std::string heads = top_heads_text(result.heads, stat);
      if (!heads.empty()) {
        text += "Most " + std::string(head_stat_name(stat)) + ": " + heads + ".\n";
      }
    }
    const std::string path = console::shell_path(result.path);
    text += "Next: attnscope stats " + path + "\nIn the browser: attnscope view " + path + "\n";
  }
  return text;
}

void show(const CaptureSpec& spec, const CaptureResult& result) {
  if (!spec.output.quiet) console::print_warnings(result.warnings);
  if (spec.output.json) {
    console::print(to_json(result) + "\n");
  } else if (spec.output.dry_run) {
    console::print(describe(result.plan) + "Nothing was computed or written (--dry-run).\n");
  } else if (!spec.output.quiet) {
    console::print(summary(result));
  }
}

}  // namespace

int run_capture(const CaptureSpec& spec, const std::vector<std::string>& command_line) {
  set_up_process({.threads = spec.compute.threads});
  CaptureContext context{.command_line = command_line, .stop = &stop_on_signals()};
  // For a person who watches; a script has --dry-run.
  if (console::progress_visible() && !spec.output.quiet && !spec.output.dry_run) {
    context.on_plan = [](const CapturePlan& plan) { console::note(describe(plan)); };
  }
  return until_stopped([&] {
    CaptureResult result;
    {
      console::ProgressBar bar("prompts", "tokens");
      if (!spec.output.quiet) context.progress = &bar;
      result = attnscope::run_capture(spec, context);
    }
    show(spec, result);
  });
}

}  // namespace attnscope::run
