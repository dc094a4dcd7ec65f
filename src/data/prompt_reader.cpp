#include "attnscope/data/prompt_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/json.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "delimited_text.h"
#include "line_checks.h"
#include "line_reader.h"

namespace attnscope {
namespace {

using nlohmann::json;

const std::set<std::string> kTextKeys = {"text", "prompt"};
const std::set<std::string> kPromptKeys = {"text", "prompt", "pair", "ids", "token_types"};

void check_prompt(const Prompt& p, bool has_text) {
  if (p.ids && has_text) throw BadLine{"has both a text and ids"};
  if (!p.ids && !has_text) throw BadLine{"has neither a text nor ids"};
  if (p.ids && p.pair) throw BadLine{"has both ids and a pair"};
  if (p.ids && p.ids->empty()) throw BadLine{"the list of ids is empty"};
  if (!p.token_types.empty() && (!p.ids || p.token_types.size() != p.ids->size())) {
    throw BadLine{"token_types: expected one for each of the ids, got " +
                  std::to_string(p.token_types.size())};
  }
}

std::vector<std::int64_t> json_ids(const JsonObject& object, const char* key) {
  return object.integers_or_empty(key, {.low = 0});
}

Prompt prompt_from_json(const std::string& line, const PromptReadOptions& options) {
  const std::string text = checked_text(line, options.invalid_utf8);
  const json document = parse_json(text, "", "PR02");
  const JsonObject object(document, "", "PR02");
  Prompt prompt;
  bool has_text = false;
  for (const std::string& key : kTextKeys) {
    if (!object.has(key)) continue;
    if (has_text) throw BadLine{"has both \"prompt\" and \"text\""};
    prompt.text = object.string(key);
    has_text = true;
  }
  if (object.has("pair")) prompt.pair = object.string("pair");
  if (object.has("ids")) prompt.ids = json_ids(object, "ids");
  prompt.token_types = json_ids(object, "token_types");
  for (const auto& [key, value] : document.items()) {
    if (kPromptKeys.contains(key) || value.is_null()) continue;
    prompt.columns.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  check_prompt(prompt, has_text);
  return prompt;
}

}  // namespace

// One kind of file: gives prompts until the end; throws BadLine after it has moved past the line.
class PromptReader::Format {
 public:
  virtual ~Format() = default;
  virtual bool next(Prompt& prompt) = 0;
  virtual std::int64_t line_number() const = 0;
};

namespace {

template <typename Base>
class LinesFormat : public Base {
 public:
  LinesFormat(LineReader& lines, const PromptReadOptions& options)
      : lines_(lines), options_(options) {}
  bool next(Prompt& prompt) override {
    if (!lines_.next(line_)) return false;
    drop_carriage_return(line_);
    prompt = {};
    prompt.text = checked_text(line_, options_.invalid_utf8);
    return true;
  }
  std::int64_t line_number() const override { return lines_.line_number(); }

 private:
  LineReader& lines_;
  const PromptReadOptions& options_;
  std::string line_;
};

template <typename Base>
class JsonLinesFormat : public Base {
 public:
  JsonLinesFormat(LineReader& lines, const PromptReadOptions& options)
      : lines_(lines), options_(options) {}
  bool next(Prompt& prompt) override {
    do {
      if (!lines_.next(line_)) return false;
    } while (trim(line_).empty());
    prompt = prompt_from_json(line_, options_);
    return true;
  }
  std::int64_t line_number() const override { return lines_.line_number(); }

 private:
  LineReader& lines_;
  const PromptReadOptions& options_;
  std::string line_;
};

template <typename Base>
class TableFormat : public Base {
 public:
  TableFormat(LineReader& lines, char separator, const PromptReadOptions& options)
      : records_(lines, separator), options_(options) {
    std::string problem;
    if (!records_.next(header_, problem)) throw BadLine{"the file has no header line"};
    if (!problem.empty()) throw BadLine{"header: " + problem};
    std::set<std::string> seen;
    int texts = 0;
    for (std::string& name : header_) {
      name = checked_text(name, options.invalid_utf8);
      if (!seen.insert(name).second) throw BadLine{"header: column " + quote(name) + " twice"};
      texts += kTextKeys.contains(name) ? 1 : 0;
    }
    if (texts > 1) throw BadLine{"header: has both \"prompt\" and \"text\""};
    if (texts == 0 && !seen.contains("ids")) {
      std::vector<std::string> names;
      for (const std::string& name : header_) names.push_back(quote(name));
      throw BadLine{"header: expected a column text, prompt or ids; got " +
                    escape_untrusted(join(names, ", "), 400)};
    }
  }

  bool next(Prompt& prompt) override {
    std::vector<std::string> fields;
    if (!next_row(records_, header_.size(), fields)) return false;
    prompt = {};
    bool has_text = false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& name = header_[i];
      std::string value = checked_text(std::move(fields[i]), options_.invalid_utf8);
      if (kTextKeys.contains(name)) {
        prompt.text = std::move(value);
        has_text = true;
      } else if (name == "pair") {
        if (!value.empty()) prompt.pair = std::move(value);
      } else if (name == "ids") {
        if (!value.empty()) prompt.ids = parse_id_field(name, value);
      } else if (name == "token_types") {
        prompt.token_types = parse_id_field(name, value);
      } else {
        prompt.columns.push_back({name, std::move(value)});
      }
    }
    // A table that has both columns uses, in each line, the one that is filled in.
    if (prompt.ids && prompt.text.empty()) has_text = false;
    check_prompt(prompt, has_text);
    return true;
  }
  std::int64_t line_number() const override { return records_.line_number(); }

 private:
  DelimitedText records_;
  const PromptReadOptions& options_;
  std::vector<std::string> header_;
};

}  // namespace

class PromptReader::Impl {
 public:
  Impl(const std::string& path, const PromptReadOptions& options)
      : options_(options), lines_(path, options.max_line_bytes) {
    if (lines_.file().size() > options.max_file_bytes) {
      throw Error(ErrorKind::limit, "PR01",
                  {.where = shown_path(),
                   .what = "the prompt file is too large",
                   .expected = "at most " + format_bytes(options.max_file_bytes),
                   .got = format_bytes(lines_.file().size()),
                   .next = "split it, or use --shard on parts of it"});
    }
    const std::string suffix = suffix_of(path);
    try {
      if (suffix == ".txt") {
        format_ = std::make_unique<LinesFormat<Format>>(lines_, options_);
      } else if (suffix == ".jsonl") {
        format_ = std::make_unique<JsonLinesFormat<Format>>(lines_, options_);
      } else if (suffix == ".csv" || suffix == ".tsv") {
        const char separator = suffix == ".csv" ? ',' : '\t';
        format_ = std::make_unique<TableFormat<Format>>(lines_, separator, options_);
      } else {
        throw Error(ErrorKind::input, "PR01",
                    {.where = shown_path(),
                     .what = "unknown kind of prompt file",
                     .expected = "a name that ends in .txt, .jsonl, .csv or .tsv",
                     .got = suffix.empty() ? "no suffix" : quote(suffix)});
      }
    } catch (const BadLine& bad) {
      throw Error(ErrorKind::input, "PR01", {.where = shown_path(), .what = bad.reason});
    }
  }

  bool next(Prompt& prompt) {
    while (true) {
      try {
        if (!format_->next(prompt)) {
          if (given_ == 0) fail_no_prompts(lines_.file().path(), skipped_);
          return false;
        }
        prompt.line = format_->line_number();
        ++given_;
        return true;
      } catch (const BadLine& bad) {
        report(bad.reason);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::input || error.code() != "PR02") throw;
        const ErrorDetail& d = error.detail();
        std::string reason = d.what;
        if (!d.expected.empty()) reason += "; expected " + d.expected;
        if (!d.got.empty()) reason += ", got " + d.got;
        report(reason);
      }
    }
  }

  const std::vector<SkippedLine>& skipped() const { return skipped_; }

 private:
  std::string shown_path() const { return escape_untrusted(lines_.file().path(), 4096); }

  void report(const std::string& reason) {
    const std::int64_t line = format_->line_number();
    if (options_.bad_lines == BadLines::skip) {
      skipped_.push_back({line, reason});
      return;
    }
    throw Error(ErrorKind::input, "PR02",
                {.where = shown_path() + ":" + std::to_string(line),
                 .what = reason,
                 .next = "--skip-bad passes over bad lines and counts them"});
  }

  PromptReadOptions options_;
  LineReader lines_;
  std::unique_ptr<Format> format_;
  std::vector<SkippedLine> skipped_;
  std::int64_t given_ = 0;
};

namespace {

// "line 7: what is wrong with it".
std::string first_of(const std::vector<SkippedLine>& skipped) {
  const SkippedLine& first =
      *std::min_element(skipped.begin(), skipped.end(),
                        [](const SkippedLine& a, const SkippedLine& b) { return a.line < b.line; });
  return "line " + std::to_string(first.line) + ": " + first.reason;
}

}  // namespace

PromptReader::PromptReader(const std::string& path, const PromptReadOptions& options)
    : impl_(std::make_unique<Impl>(path, options)) {}
PromptReader::~PromptReader() = default;
PromptReader::PromptReader(PromptReader&&) noexcept = default;

bool PromptReader::next(Prompt& prompt) {
  return impl_->next(prompt);
}
const std::vector<SkippedLine>& PromptReader::skipped() const {
  return impl_->skipped();
}

void fail_no_prompts(const std::string& path, const std::vector<SkippedLine>& skipped) {
  throw Error(ErrorKind::input, "PR03",
              {.where = escape_untrusted(path, 4096),
               .what = skipped.empty() ? "the file has no prompts"
                                       : "no line of the file can be used; " + first_of(skipped)});
}

std::string describe_skipped(const std::vector<SkippedLine>& skipped) {
  return count_of(skipped.size(), "bad line") + " of the prompt file " +
         (skipped.size() == 1 ? "is" : "are") + " left out; the first is " + first_of(skipped);
}

PromptFile read_prompt_file(const std::string& path, const PromptReadOptions& options) {
  PromptFile file;
  PromptReader reader(path, options);
  Prompt prompt;
  while (reader.next(prompt)) file.prompts.push_back(std::move(prompt));
  file.skipped = reader.skipped();
  file.sha256 = sha256_of_file(path, "PR01");
  return file;
}

}  // namespace attnscope
