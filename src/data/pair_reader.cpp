#include "pair_reader.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "delimited_text.h"
#include "line_checks.h"
#include "line_reader.h"
#include "pair_columns.h"

namespace attnscope {

using nlohmann::json;

// One kind of file: gives a record for each pair until the end.
class PairReader::Format {
 public:
  virtual ~Format() = default;
  // Throws BadLine or Error PA02 after it has moved past the record.
  virtual bool next(json& record) = 0;
  virtual std::int64_t number() const = 0;
  virtual const char* place_before_number() const { return ":"; }
  // What the file says of all its pairs.
  virtual void complete(Pair&) const {}
};

namespace {

constexpr std::uint64_t kMaxLineBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{256} << 20;

class JsonLines : public PairReader::Format {
 public:
  JsonLines(const std::string& path, const PairOptions& options)
      : lines_(path, kMaxLineBytes), options_(options) {}

  bool next(json& record) override {
    std::string line;
    do {
      if (!lines_.next(line)) return false;
    } while (trim(line).empty());
    record =
        parse_json(checked_text(std::move(line), options_.encode.encode.invalid_utf8), "", "PA02");
    return true;
  }
  std::int64_t number() const override { return lines_.line_number(); }

 private:
  LineReader lines_;
  const PairOptions& options_;
};

class PairTable : public PairReader::Format {
 public:
  PairTable(const std::string& path, char separator, const PairOptions& options)
      : lines_(path, kMaxLineBytes), records_(lines_, separator), options_(options) {
    std::string problem;
    if (!records_.next(header_, problem)) throw BadLine{"the file is empty"};
    if (!problem.empty()) throw BadLine{"header: " + problem};
    std::set<std::string> seen;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      std::string& name = header_[i];
      name = checked_text(std::move(name), options.encode.encode.invalid_utf8);
      // A table's index column, which pandas writes without a name.
      if (name.empty()) name = "column_" + std::to_string(i + 1);
      if (!seen.insert(name).second) throw BadLine{"header: column " + quote(name) + " twice"};
    }
    check_columns(header_, options);
  }

  bool next(json& record) override {
    std::vector<std::string> fields;
    if (!next_row(records_, header_.size(), fields)) return false;
    record = json::object();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      record[header_[i]] = checked_text(std::move(fields[i]), options_.encode.encode.invalid_utf8);
    }
    return true;
  }
  std::int64_t number() const override { return records_.line_number(); }

 private:
  LineReader lines_;
  DelimitedText records_;
  const PairOptions& options_;
  std::vector<std::string> header_;
};

// {"prompts": […], "word_idxs": {name: token}, "seq_labels": […]}, or the list alone.
class JsonDocument : public PairReader::Format {
 public:
  JsonDocument(const std::string& path, const PairOptions& options) {
    const std::string where = escape_untrusted(path, 4096);
    const std::string text = checked_text(read_text_file(path, "PA01", kMaxJsonBytes),
                                          options.encode.encode.invalid_utf8);
    json document = parse_json(text, where, "PA01");
    if (document.is_object()) {
      const JsonObject object(document, where, "PA01");
      const json& prompts = object.require("prompts");
      if (!prompts.is_array()) {
        object.fail("prompts", "", "a list of pairs", json_type_name(prompts));
      }
      read_words(object);
      records_ = prompts;
    } else if (document.is_array()) {
      records_ = std::move(document);
    } else {
      throw BadLine{"expected an object with \"prompts\", or a list of pairs; got " +
                    json_type_name(document)};
    }
  }

  bool next(json& record) override {
    if (done_ == records_.size()) return false;
    record = records_[done_++];
    return true;
  }
  std::int64_t number() const override { return static_cast<std::int64_t>(done_); }
  const char* place_before_number() const override { return ": prompt "; }
  void complete(Pair& pair) const override {
    pair.named_tokens = words_;
    pair.text_tokens = text_tokens_;
  }

 private:
  void read_words(const JsonObject& object) {
    if (const json* labels = object.find("seq_labels")) {
      if (!labels->is_array()) {
        object.fail("seq_labels", "", "a list of texts", json_type_name(*labels));
      }
      text_tokens_ = static_cast<int>(labels->size());
    }
    if (!object.has("word_idxs")) return;
    const JsonObject words = object.object("word_idxs");
    for (const auto& [name, value] : words.value().items()) {
      words_[name] = static_cast<int>(words.integer(name, {.low = 0, .high = 1 << 30}));
    }
  }

  json records_;
  std::size_t done_ = 0;
  std::map<std::string, int> words_;
  int text_tokens_ = 0;
};

std::unique_ptr<PairReader::Format> open_format(const std::string& path,
                                                const PairOptions& options) {
  const std::string suffix = suffix_of(path);
  const std::uint64_t bytes = InputFile(path, "PA01").size();
  if (bytes > kMaxFileBytes) {
    throw Error(ErrorKind::limit, "PA01",
                {.where = escape_untrusted(path, 4096),
                 .what = "the pairs file is too large",
                 .expected = "at most " + format_bytes(kMaxFileBytes),
                 .got = format_bytes(bytes)});
  }
  if (suffix == ".jsonl") return std::make_unique<JsonLines>(path, options);
  if (suffix == ".csv") return std::make_unique<PairTable>(path, ',', options);
  if (suffix == ".tsv") return std::make_unique<PairTable>(path, '\t', options);
  if (suffix == ".json") return std::make_unique<JsonDocument>(path, options);
  throw Error(ErrorKind::input, "PA01",
              {.where = escape_untrusted(path, 4096),
               .what = "unknown kind of pairs file",
               .expected = "a name that ends in .jsonl, .csv, .tsv or .json",
               .got = suffix.empty() ? "no suffix" : quote(suffix),
               .next = suffix == ".gz" ? "unpack it first: gunzip -k FILE" : ""});
}

}  // namespace

PairReader::PairReader(const std::string& path, const PairOptions& options)
    : options_(options), path_(path) {
  const std::string where = escape_untrusted(path, 4096);
  try {
    format_ = open_format(path, options_);
  } catch (const BadLine& bad) {
    throw Error(ErrorKind::input, "PA01", {.where = where, .what = bad.reason});
  } catch (const Error& error) {
    if (!error.detail().where.empty()) throw;
    rethrow_at(error, where);
  }
}

PairReader::~PairReader() = default;

bool PairReader::next(Pair& pair) {
  try {
    json record;
    if (!format_->next(record)) return false;
    pair = pair_of_record(record, options_);
  } catch (const BadLine& bad) {
    throw Error(ErrorKind::input, "PA02", {.what = bad.reason});
  }
  format_->complete(pair);
  pair.line = format_->number();
  pair.clean.line = pair.line;
  return true;
}

std::string PairReader::place() const {
  return escape_untrusted(path_, 4096) + format_->place_before_number() +
         std::to_string(format_->number());
}

}  // namespace attnscope
