#include "attnscope/storage/diff.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "attnscope/storage/h5.h"
#include "attnscope/support/error.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/utf8.h"
#include "attnscope/support/warnings.h"
#include "experiment.h"
#include "header.h"
#include "reader_state.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

using Key = std::pair<HookId, std::int64_t>;  // hook, head

struct InForwardOrder {
  bool operator()(const Key& a, const Key& b) const {
    if (a.first != b.first) return comes_before(a.first, b.first);
    return a.second < b.second;
  }
};
using Changes = std::map<Key, SiteChange, InForwardOrder>;

std::string token_name(const TokenTable& tokens, std::size_t at) {
  return std::to_string(tokens.ids[at]) + " " +
         (at < tokens.text.size() ? quote(tokens.text[at]) : "");
}

void require_same_ids(const CaptureReader& a, const CaptureReader& b, int prompt) {
  const TokenTable x = a.prompt(prompt).tokens;
  const TokenTable y = b.prompt(prompt).tokens;
  if (x.ids == y.ids) return;
  const auto [i, j] = std::mismatch(x.ids.begin(), x.ids.end(), y.ids.begin(), y.ids.end());
  const auto at = static_cast<std::size_t>(i - x.ids.begin());
  const auto name = [at](const TokenTable& tokens) {
    return at < tokens.ids.size() ? token_name(tokens, at) : std::string("no token");
  };
  static_cast<void>(j);
  throw Error(ErrorKind::input, "SD01",
              {.where = escape_untrusted(b.path(), 4096),
               .what = "the token ids differ from those of " + escape_untrusted(a.path(), 4096) +
                       ": " + prompt_group_name(prompt) + ", position " + std::to_string(at),
               .expected = name(x),
               .got = name(y),
               .next = "compare captures of the same tokens"});
}

// Adds |y − x| of one value to what is known of its head.
void compare(double x, double y, SiteChange& change) {
  if (x == y || (std::isnan(x) && std::isnan(y))) {
    ++change.values;
    return;
  }
  const double difference = std::fabs(y - x);
  if (!std::isfinite(difference)) {
    ++change.undefined;
    return;
  }
  ++change.values;
  change.largest = std::max(change.largest, difference);
  change.mean += difference;  // the sum, until all prompts are in
}

struct HeadAxis {
  std::int64_t heads = 1;
  std::int64_t inner = 1;  // values between one head and the next
  bool exists = false;
};

HeadAxis head_axis(const StoredSite& site) {
  HeadAxis axis;
  for (std::size_t a = 0; a < site.dims.size(); ++a) {
    if (axis.exists) axis.inner *= site.shape[a];
    if (site.dims[a] == "h" || site.dims[a] == "g") {
      axis.exists = true;
      axis.heads = site.shape[a];
    }
  }
  return axis;
}

void compare_site(const CaptureReader& a, const CaptureReader& b, int prompt, HookId hook,
                  Changes& changes, std::vector<std::string>& other_shape) {
  const auto site_a = a.site(prompt, hook);
  const auto site_b = b.site(prompt, hook);
  if (site_a->shape != site_b->shape || !(site_a->subset == site_b->subset)) {
    other_shape.push_back(hook_name(hook));
    return;
  }
  const auto& heads = site_a->subset.heads;
  const auto head_of = [&heads](std::int64_t slot) {
    return heads.empty() ? slot : heads[static_cast<std::size_t>(slot)];
  };
  if (site_a->map) {
    // One head at a time: maps can be larger than memory.
    for (std::int64_t slot = 0; slot < site_a->map->heads; ++slot) {
      const std::vector<float> x = a.read_map(prompt, hook, slot);
      const std::vector<float> y = b.read_map(prompt, hook, slot);
      SiteChange& change = changes[{hook, head_of(slot)}];
      for (std::size_t i = 0; i < x.size(); ++i) compare(x[i], y[i], change);
    }
    return;
  }
  const std::vector<double> x = a.read(prompt, hook).as_double();
  const std::vector<double> y = b.read(prompt, hook).as_double();
  const HeadAxis axis = head_axis(*site_a);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t slot = static_cast<std::int64_t>(i) / axis.inner % axis.heads;
    compare(x[i], y[i], changes[{hook, axis.exists ? head_of(slot) : -1}]);
  }
}

std::vector<std::string> names_only_in(const std::vector<HookId>& these,
                                       const std::vector<HookId>& those) {
  std::vector<std::string> names;
  for (const HookId hook : these) {
    if (std::find(those.begin(), those.end(), hook) == those.end())
      names.push_back(hook_name(hook));
  }
  return names;
}

void sort_unique(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

nlohmann::json about(const CaptureReader& file) {
  return {{"run_id", file.file().run_id}, {"weights_sha256", file.model().weights_sha256}};
}

ExperimentRecord record_of(const DiffResult& result, const std::string& spec) {
  ExperimentRecord record{.name = "diff", .kind = "diff", .metric = "|b - a|", .spec_json = spec};
  const auto count = static_cast<std::int64_t>(result.changes.size());
  NamedTexts cells{"cells", {"cell"}, {count}, {}};
  NamedArray effect{"effect", {"method", "cell"}, {2, count}, {}};
  NamedIntegers layers{"layers", {"cell"}, {count}, {}};
  NamedIntegers heads{"heads", {"cell"}, {count}, {}};
  NamedIntegers n{"n", {"cell"}, {count}, {}};
  NamedIntegers undefined{"undefined", {"cell"}, {count}, {}};
  std::vector<double> mean;
  for (const SiteChange& change : result.changes) {
    cells.values.push_back(hook_name(change.hook) +
                           (change.head < 0 ? "" : "/" + std::to_string(change.head)));
    effect.values.push_back(change.largest);
    mean.push_back(change.mean);
    layers.values.push_back(change.hook.layer);
    heads.values.push_back(change.head);
    n.values.push_back(change.values);
    undefined.values.push_back(change.undefined);
  }
  effect.values.insert(effect.values.end(), mean.begin(), mean.end());
  record.arrays = {std::move(effect)};
  record.texts = {{"methods", {"method"}, {2}, {"largest", "mean"}}, std::move(cells)};
  record.integers = {std::move(layers), std::move(heads), std::move(n), std::move(undefined)};
  return record;
}

// What experiments hold is not compared; an empty difference would say that they are equal.
void require_captures(const CaptureReader& a, const CaptureReader& b) {
  for (const CaptureReader* file : {&a, &b}) {
    const FileKind kind = file->file().kind;
    const bool experiment = kind == FileKind::ablate || kind == FileKind::patch ||
                            kind == FileKind::verdict || kind == FileKind::lens;
    if (!experiment) continue;
    throw Error(ErrorKind::input, "SD03",
                {.where = escape_untrusted(file->path(), 4096),
                 .what = std::string("results of ") + file_kind_name(kind) + " cannot be compared",
                 .expected = "two captures of the same tokens",
                 .next = "export both as csv with --figure grid and compare those"});
  }
}

}  // namespace

DiffResult diff_files(const CaptureReader& a, const CaptureReader& b) {
  require_captures(a, b);
  if (a.prompts() != b.prompts()) {
    throw Error(ErrorKind::input, "SD02",
                {.where = escape_untrusted(b.path(), 4096),
                 .what = "another number of prompts than " + escape_untrusted(a.path(), 4096),
                 .expected = std::to_string(a.prompts()),
                 .got = std::to_string(b.prompts())});
  }
  for (int prompt = 0; prompt < a.prompts(); ++prompt) require_same_ids(a, b, prompt);
  DiffResult result;
  Changes changes;
  for (int prompt = 0; prompt < a.prompts(); ++prompt) {
    const std::vector<HookId> hooks_a = a.hooks(prompt);
    const std::vector<HookId> hooks_b = b.hooks(prompt);
    for (auto& name : names_only_in(hooks_a, hooks_b)) result.only_a.push_back(name);
    for (auto& name : names_only_in(hooks_b, hooks_a)) result.only_b.push_back(name);
    for (const HookId hook : hooks_a) {
      if (std::find(hooks_b.begin(), hooks_b.end(), hook) == hooks_b.end()) continue;
      compare_site(a, b, prompt, hook, changes, result.other_shape);
    }
  }
  sort_unique(result.only_a);
  sort_unique(result.only_b);
  sort_unique(result.other_shape);
  for (auto& [key, change] : changes) {
    change.hook = key.first;
    change.head = key.second;
    change.mean = change.values > 0 ? change.mean / static_cast<double>(change.values)
                                    : std::numeric_limits<double>::quiet_NaN();
    result.changes.push_back(change);
  }
  return result;
}

std::string write_diff(const DiffResult& result, const CaptureReader& a, const CaptureReader& b,
                       const std::string& path, IfExists if_exists) {
  const std::string spec = nlohmann::json{{"a", about(a)}, {"b", about(b)}}.dump();
  FileInfo info = b.file();
  info.kind = FileKind::diff;
  info.run_id = sha256_of(spec);
  info.shard.reset();
  Warnings warnings;
  Output output({.path = path, .if_exists = if_exists, .run_id = info.run_id}, warnings);
  if (output.complete()) return output.finish();
  const std::string temporary = output.begin(0);
  try {
    h5::File file = h5::File::create(temporary);
    h5::Group root = file.root();
    write_header(root, info, b.model(), b.run());
    ChunkCompressor compressor;
    write_experiment(root, record_of(result, spec), compressor);
    file.close();
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  output.commit(0);
  return output.finish();
}

}  // namespace attnscope
