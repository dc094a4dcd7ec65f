#include "attnscope/storage/merge.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "attnscope/storage/reader.h"
#include "attnscope/storage/sweep_output.h"
#include "attnscope/support/error.h"
#include "attnscope/support/json.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "attnscope/support/warnings.h"
#include "join.h"
#include "options_diff.h"

namespace attnscope {
namespace {

constexpr const char* kCode = "SM03";

// Options of a capture that decide what is stored of a prompt. The others choose the prompts, or
// how they are computed.
constexpr const char* kStoredOptions[] = {"hooks",      "layers",    "heads", "positions",
                                          "stats_only", "map_dtype", "topk",  "layout",
                                          "bos",        "chat"};

struct Input {
  std::string path;
  FileInfo file;
  FileLayout layout = FileLayout::per_prompt;
  ModelInfo model;
  RunInfo run;
  std::vector<std::string> sites;  // of the first prompt
  dev_t device = 0;
  ino_t inode = 0;
};

[[noreturn]] void refuse(const Input& input, const std::string& what,
                         const std::string& expected = "", const std::string& got = "",
                         const std::string& next = "") {
  throw Error(ErrorKind::input, kCode,
              {.where = escape_untrusted(input.path, 4096),
               .what = what,
               .expected = expected,
               .got = got,
               .next = next});
}

std::string shown(const Input& input) {
  return escape_untrusted(input.path, 4096);
}

Input look_at(const std::string& path) {
  const CaptureReader reader(path);
  Input input{.path = path,
              .file = reader.file(),
              .layout = reader.layout(),
              .model = reader.model(),
              .run = reader.run(),
              .sites = {}};
  for (const HookId hook : reader.prompts() > 0 ? reader.hooks(0) : std::vector<HookId>{}) {
    input.sites.push_back(hook_name(hook));
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    input.device = info.st_dev;
    input.inode = info.st_ino;
  }
  return input;
}

nlohmann::json options_of(const Input& input) {
  return input.run.options_json.empty() ? nlohmann::json::object()
                                        : parse_json(input.run.options_json, shown(input), kCode);
}

void require_same_kind(const Input& first, const Input& other) {
  const ModelInfo& a = first.model;
  const ModelInfo& b = other.model;
  for (const auto& [what, expected, got] :
       {std::tuple("weights", a.weights_sha256, b.weights_sha256),
        {"config", a.config_sha256, b.config_sha256},
        {"tokenizer", a.tokenizer_sha256, b.tokenizer_sha256}}) {
    if (got != expected) {
      refuse(other, std::string("another model: SHA-256 of its ") + what, expected, got);
    }
  }
  if (other.file.kind != first.file.kind) {
    refuse(other, "another kind of file", file_kind_name(first.file.kind),
           file_kind_name(other.file.kind));
  }
  if (other.layout != first.layout) {
    refuse(other, "another layout", "packed files, or one group a prompt, not both");
  }
}

// The prompts of one file have what those of another have.
void require_same_content(const Input& first, const Input& other) {
  if (other.run.dtype != first.run.dtype) {
    refuse(other, "computed in another dtype than " + shown(first), quote(first.run.dtype),
           quote(other.run.dtype));
  }
  const nlohmann::json a = options_of(first);
  const nlohmann::json b = options_of(other);
  for (const char* key : kStoredOptions) {
    // "*" is what an empty selection means.
    const auto value = [key](const nlohmann::json& options) -> std::string {
      if (!options.is_object() || !options.contains(key)) return "nothing";
      const nlohmann::json& option = options.at(key);
      if (!option.is_string()) return option.dump();
      return option == "" ? "*" : option.get<std::string>();
    };
    if (value(a) == value(b)) continue;
    refuse(other, "captured with another \"" + std::string(key) + "\" than " + shown(first),
           quote(value(a)), quote(value(b)));
  }
  if (other.sites != first.sites) {
    refuse(other, "other sites than in " + shown(first), quote(join(first.sites, ", "), 300),
           quote(join(other.sites, ", "), 300));
  }
}

// Two names of one file, or two files of one run.
void require_distinct(const std::vector<Input>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Input& a = inputs[j];
      const Input& b = inputs[i];
      if (a.device == b.device && a.inode == b.inode) {
        refuse(b, "the same file as " + shown(a), "", "", "name each file once");
      }
      if (a.file.run_id == b.file.run_id && a.file.shard == b.file.shard) {
        refuse(b, "the same run as " + shown(a) + ": model, prompts and options are equal", "", "",
               "name each run once");
      }
    }
  }
}

// The identity of a run is its options and the hashes of its inputs, of which the model's are known
// to be equal.
[[noreturn]] void refuse_other_run(const Input& first, const Input& other) {
  const std::string what = "a part of another run than " + shown(first) + ": ";
  const nlohmann::json a = options_of(first);
  const nlohmann::json b = options_of(other);
  const std::string key = storage_detail::differing_key(a, b);
  if (!key.empty()) {
    refuse(other, what + "the option " + quote(key) + " differs", storage_detail::value_at(a, key),
           storage_detail::value_at(b, key), "make all parts with the same options");
  }
  refuse(other, what + "the options are equal, so the prompts differ", "", "",
         "make all parts from the same file of prompts");
}

// Parts of one run, in their order; each must be there.
void order_parts(std::vector<Input>& inputs) {
  const Input& first = inputs.front();
  const auto part = [](const Input& input) {
    return "part " + std::to_string(input.file.shard->index + 1) + " of " +
           std::to_string(input.file.shard->count);
  };
  for (const Input& input : inputs) {
    if (!input.file.shard) {
      refuse(input, "a whole run, and another input is " + part(first) + " of one",
             "parts of one run, or whole captures", "",
             "merge the parts of the run first, then the result with this file");
    }
    if (input.file.run_id != first.file.run_id) refuse_other_run(first, input);
    if (input.file.shard->count != first.file.shard->count) {
      refuse(input, "cut into another number of parts than " + shown(first), part(first),
             part(input));
    }
  }
  std::sort(inputs.begin(), inputs.end(), [](const Input& a, const Input& b) {
    return a.file.shard->index < b.file.shard->index;
  });
  std::vector<std::string> missing;
  std::size_t next = 0;
  for (int i = 0; i < inputs.front().file.shard->count; ++i) {
    if (next < inputs.size() && inputs[next].file.shard->index == i) {
      ++next;
    } else {
      missing.push_back(std::to_string(i + 1));
    }
  }
  if (missing.empty()) return;
  refuse(inputs.front(), "parts of the run are missing",
         "all " + std::to_string(inputs.front().file.shard->count) + " parts",
         "no part " + join(missing, ", "), "name every part");
}

// Parts of an experiment, in their order, have the same prompts and other cells.
void join_experiments(const std::vector<std::string>& paths, const MergeOptions& options,
                      const std::string& out) {
  PartRecords parts;
  for (const std::string& path : paths) parts.push_back(CaptureReader(path).experiments());
  const CaptureReader first(paths.front());
  std::vector<PromptRecord> prompts;
  for (int p = 0; p < first.prompts(); ++p) prompts.push_back(first.prompt(p));
  FileInfo file = first.file();
  file.shard.reset();
  write_experiment_file(out, file, first.model(), first.run(), prompts,
                        options.join_records(parts, prompts));
}

}  // namespace

std::string merge_files(const MergeOptions& options) {
  if (options.inputs.size() < 2) {
    throw Error(ErrorKind::input, "SM02",
                {.what = "nothing to merge",
                 .expected = "two or more files",
                 .got = std::to_string(options.inputs.size())});
  }
  std::vector<Input> inputs;
  for (const std::string& path : options.inputs) inputs.push_back(look_at(path));
  for (const Input& input : inputs) require_same_kind(inputs.front(), input);
  require_distinct(inputs);
  const bool experiment = inputs.front().file.kind != FileKind::capture;
  const auto part = std::find_if(inputs.begin(), inputs.end(),
                                 [](const Input& input) { return input.file.shard.has_value(); });
  storage_detail::JoinOptions join{.run_id = inputs.front().file.run_id, .path = {}};
  if (part != inputs.end()) {
    std::iter_swap(inputs.begin(), part);
    order_parts(inputs);
    if (experiment && options.join_records == nullptr) {
      refuse(inputs.front(), "a part of an experiment, whose statistics must be estimated anew",
             "merge_files() with join_records");
    }
    join.run_id = inputs.front().file.run_id;
  } else {
    join.kind = storage_detail::JoinKind::merge;
    // The identity of the result follows from what it is made of.
    std::string run_ids;
    for (const Input& input : inputs) {
      require_same_content(inputs.front(), input);
      run_ids += input.file.run_id + "\n";
    }
    join.run_id = sha256_of(run_ids);
  }
  std::vector<std::string> paths;
  for (const Input& input : inputs) paths.push_back(input.path);
  Warnings warnings;
  Output output({.path = options.path, .if_exists = options.if_exists, .run_id = join.run_id},
                warnings);
  if (!output.complete()) {
    join.path = output.begin(0);
    if (experiment && part != inputs.end()) {
      join_experiments(paths, options, join.path);
    } else {
      storage_detail::join_files(paths, join);
    }
    output.commit(0);
  }
  return output.finish();
}

}  // namespace attnscope
