#include "reference_files.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "attnscope/data/prompt_reader.h"
#include "attnscope/spec/prompts.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

constexpr std::uint64_t kMaxVectorBytes = 64 << 20;
constexpr const char* kVectorCode = "AB50";

[[noreturn]] void fail_vector(const std::string& path, const std::string& what,
                              const std::string& expected = "") {
  throw Error(ErrorKind::input, kVectorCode,
              {.where = escape_untrusted(path, 4096), .what = what, .expected = expected});
}

// numpy's format 1.0 and 2.0: magic, version, length of the header, header, values.
std::vector<double> parse_npy(const std::string& path, const std::string& bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (bytes.size() < 12 || std::string_view(bytes).substr(0, kMagic.size()) != kMagic) {
    fail_vector(path, "not an .npy file");
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const bool second = byte(6) >= 2;
  std::size_t length = byte(8) + (std::size_t{byte(9)} << 8U);
  if (second) length += (std::size_t{byte(10)} << 16U) + (std::size_t{byte(11)} << 24U);
  const std::size_t begin = second ? 12 : 10;
  if (bytes.size() < begin + length) fail_vector(path, "the header is cut");
  const std::string header = bytes.substr(begin, length);
  const bool wide = header.find("'<f8'") != std::string::npos;
  if (!wide && header.find("'<f4'") == std::string::npos) {
    fail_vector(path, "unsupported type of numbers", "'<f4' or '<f8'");
  }
  const std::size_t size = wide ? 8 : 4;
  const std::size_t count = (bytes.size() - begin - length) / size;
  const std::string shape = "(" + std::to_string(count) + ",)";
  if (header.find(shape) == std::string::npos) {
    fail_vector(path, "the shape does not fit the values", "one axis, " + shape);
  }
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* from = bytes.data() + begin + length + i * size;
    if (wide) {
      std::memcpy(&values[i], from, size);
    } else {
      float value = 0;
      std::memcpy(&value, from, size);
      values[i] = value;
    }
  }
  return values;
}

std::vector<double> parse_json_list(const std::string& path, const std::string& text) {
  const std::string where = escape_untrusted(path, 4096);
  const nlohmann::json list = parse_json(text, where, kVectorCode);
  if (!list.is_array()) fail_vector(path, "not a list of numbers", "[0.1, -2, …]");
  std::vector<double> values;
  for (const nlohmann::json& item : list) {
    if (!item.is_number()) fail_vector(path, "a list item is no number", "[0.1, -2, …]");
    values.push_back(item.get<double>());
  }
  return values;
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::vector<TokenRow> read_reference_rows(const AblateSpec& spec, const ExperimentInputs& inputs) {
  const Tokenizer* tokenizer = inputs.tokenizer ? &*inputs.tokenizer : nullptr;
  PromptSource source;
  source.prompts_file = spec.reference;
  PromptReader reader(spec.reference, read_options(source, spec.encoding));
  const EncodePromptOptions encode = encode_options(spec.encoding, tokenizer);
  std::vector<TokenRow> rows;
  Prompt prompt;
  while (reader.next(prompt)) {
    const EncodedPrompt encoded = encode_prompt(prompt, tokenizer, encode);
    check_prompt(inputs.checkpoint.config, encoded, LongPrompts::refused,
                 prompt_place(source, encoded.line));
    rows.push_back(token_row(encoded, inputs.checkpoint.config));
  }
  if (rows.empty()) {
    throw Error(
        ErrorKind::input, "AB51",
        {.where = escape_untrusted(spec.reference, 4096), .what = "no prompts in the file"});
  }
  return rows;
}

at::Tensor read_vector(const std::string& path) {
  const std::string bytes = read_text_file(path, kVectorCode, kMaxVectorBytes);
  const bool npy = ends_with(path, ".npy");
  if (!npy && !ends_with(path, ".json")) fail_vector(path, "unknown kind of file", ".npy or .json");
  const std::vector<double> values = npy ? parse_npy(path, bytes) : parse_json_list(path, bytes);
  if (values.empty()) fail_vector(path, "the vector is empty");
  for (const double value : values) {
    if (!std::isfinite(value)) fail_vector(path, "the vector holds NaN or infinity");
  }
  return at::tensor(values, at::TensorOptions(at::kDouble));
}

}  // namespace attnscope
