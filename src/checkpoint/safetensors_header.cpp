#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "attnscope/checkpoint/safetensors.h"
#include "attnscope/support/error.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "shape_text.h"

namespace attnscope {
namespace {

using nlohmann::json;

struct NamedDType {
  const char* name;
  DType dtype;
};
constexpr std::array<NamedDType, 10> kDTypes = {{{"F64", DType::f64},
                                                 {"F32", DType::f32},
                                                 {"F16", DType::f16},
                                                 {"BF16", DType::bf16},
                                                 {"I64", DType::i64},
                                                 {"I32", DType::i32},
                                                 {"I16", DType::i16},
                                                 {"I8", DType::i8},
                                                 {"U8", DType::u8},
                                                 {"BOOL", DType::boolean}}};

std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Collects tensors from SAX events. The expected structure is three levels deep:
//   {name: {"dtype": string, "shape": [integers], "data_offsets": [begin, end]},
//    "__metadata__": {string: string}}
class HeaderBuilder : public nlohmann::json_sax<json> {
 public:
  HeaderBuilder(std::string_view header, const std::string& where)
      : header_(header), where_(where) {}

  std::vector<StoredTensor> take() { return std::move(tensors_); }

  bool start_object(std::size_t) override {
    if (state_ == State::start) {
      state_ = State::top;
    } else if (state_ == State::top) {
      state_ = in_metadata_ ? State::metadata : State::tensor;
      inner_keys_.clear();
      if (state_ == State::tensor) begin_tensor();
    } else {
      misplaced("an object");
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::tensor) end_tensor();
    state_ = state_ == State::top ? State::done : State::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ != State::tensor || (field_ != Field::shape && field_ != Field::offsets)) {
      misplaced("an array");
    }
    state_ = State::numbers;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    state_ = State::tensor;
    if (field_ == Field::shape) {
      current_.info.shape.assign(numbers_.begin(), numbers_.end());
    } else {
      if (numbers_.size() != 2) {
        fail("ST06", "data_offsets", "two numbers", std::to_string(numbers_.size()));
      }
      current_.offset = numbers_[0];
      end_ = numbers_[1];
    }
    return true;
  }

  bool key(string_t& k) override {
    if (k.size() > SafetensorsLimits::kNameBytes) {
      raise("ST18", "a name of " + count_of(k.size(), "byte") + ": " + quote(k),
            "at most " + std::to_string(SafetensorsLimits::kNameBytes) + " bytes");
    }
    if (state_ == State::top) {
      if (!names_.insert(k).second) raise("ST08", "the tensor name " + quote(k) + " appears twice");
      in_metadata_ = k == "__metadata__";
      name_ = std::move(k);
      return true;
    }
    if (!inner_keys_.insert(k).second) {
      raise("ST08", "key " + quote(k) + " appears twice in " + subject());
    }
    if (state_ == State::tensor) {
      field_ = k == "dtype"          ? Field::dtype
               : k == "shape"        ? Field::shape
               : k == "data_offsets" ? Field::offsets
                                     : Field::unknown;
      if (field_ == Field::unknown) {
        fail("ST20", "unknown key " + quote(k), "dtype, shape and data_offsets", "");
      }
    }
    return true;
  }

  bool string(string_t& text) override {
    if (state_ == State::metadata) return true;
    if (state_ != State::tensor || field_ != Field::dtype) misplaced("a string");
    const auto* found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                     [&](const NamedDType& d) { return text == d.name; });
    if (found == kDTypes.end()) {
      std::vector<std::string> names;
      for (const NamedDType& d : kDTypes) names.emplace_back(d.name);
      fail("ST09", "dtype not supported: " + quote(text, 40), join(names, ", "), "");
    }
    current_.info.dtype = found->dtype;
    return true;
  }

  bool number_unsigned(number_unsigned_t n) override {
    if (state_ != State::numbers) misplaced("a number");
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      bad_number(std::to_string(n));
    }
    if (numbers_.size() >= SafetensorsLimits::kDims) {
      fail("ST21", "too many dimensions", "at most " + std::to_string(SafetensorsLimits::kDims),
           "more");
    }
    numbers_.push_back(n);
    return true;
  }

  bool number_integer(number_integer_t n) override {
    if (state_ != State::numbers) misplaced("a number");
    bad_number(std::to_string(n));
  }
  bool number_float(number_float_t, const string_t& text) override {
    if (state_ != State::numbers) misplaced("a number");
    bad_number(escape_untrusted(text, 40));
  }
  bool boolean(bool) override { misplaced("true or false"); }
  bool null() override { misplaced("null"); }
  bool binary(binary_t&) override { misplaced("binary data"); }

  bool parse_error(std::size_t bytes_read, const std::string&, const json::exception&) override {
    const JsonProblem problem = find_json_problem(header_, bytes_read);
    raise("ST06", "the header is not valid JSON at byte " + std::to_string(8 + problem.byte) +
                      ": " + problem.reason);
  }

 private:
  enum class State { start, top, tensor, metadata, numbers, done };
  enum class Field { none, dtype, shape, offsets, unknown };

  [[noreturn]] void raise(const char* code, const std::string& what,
                          const std::string& expected = "", const std::string& got = "") const {
    throw Error(ErrorKind::input, code,
                {.where = where_, .what = what, .expected = expected, .got = got});
  }

  std::string subject() const {
    return in_metadata_ ? "\"__metadata__\"" : "tensor " + quote(name_);
  }

  [[noreturn]] void fail(const char* code, const std::string& what, const std::string& expected,
                         const std::string& got) const {
    raise(code, subject() + ": " + what, expected, got);
  }

  [[noreturn]] void misplaced(const std::string& what) const {
    switch (state_) {
      case State::start:
      case State::done:
        raise("ST06", "the header is " + what, "an object");
      case State::top:
        fail("ST06", "is " + what, "an object", "");
      case State::metadata:
        fail("ST19", "holds " + what, "strings only", "");
      case State::numbers:
        if (what == "an array" || what == "an object") {
          fail("ST07", "nested too deep",
               "at most " + std::to_string(SafetensorsLimits::kDepth) + " levels", "");
        }
        bad_number(what);
      case State::tensor:
        break;
    }
    const char* expected = field_ == Field::dtype ? "a string" : "an array of integers";
    const char* name = field_ == Field::dtype   ? "dtype"
                       : field_ == Field::shape ? "shape"
                                                : "data_offsets";
    fail("ST06", std::string(name) + " is " + what, expected, "");
  }

  [[noreturn]] void bad_number(const std::string& got) const {
    const char* name = field_ == Field::shape ? "a dimension" : "data_offsets";
    fail("ST10", name, "an integer from 0 to 2^63-1", got);
  }

  void begin_tensor() {
    if (tensors_.size() >= SafetensorsLimits::kTensors) {
      throw Error(ErrorKind::limit, "ST17",
                  {.where = where_,
                   .what = "too many tensors",
                   .expected = "at most " + std::to_string(SafetensorsLimits::kTensors)});
    }
    current_ = {};
    current_.info.name = name_;
    end_ = 0;
  }

  void end_tensor() {
    for (const char* key : {"dtype", "shape", "data_offsets"}) {
      if (!inner_keys_.contains(key)) fail("ST20", std::string("has no ") + key, "", "");
    }
    if (end_ < current_.offset) {
      fail("ST12", "data_offsets end before they begin", "",
           std::to_string(current_.offset) + " to " + std::to_string(end_));
    }
    std::optional<std::uint64_t> bytes = 1;
    for (const std::int64_t n : current_.info.shape) {
      if (bytes) bytes = checked_product(*bytes, static_cast<std::uint64_t>(n));
    }
    if (bytes) bytes = checked_product(*bytes, dtype_size(current_.info.dtype));
    if (!bytes)
      fail("ST11", "the size of shape " + shape_text(current_.info.shape) + " overflows", "", "");
    if (*bytes != end_ - current_.offset) {
      fail("ST16",
           "data_offsets " + std::to_string(current_.offset) + " to " + std::to_string(end_),
           std::to_string(*bytes) + " bytes for " + dtype_name(current_.info.dtype) + " " +
               shape_text(current_.info.shape),
           std::to_string(end_ - current_.offset));
    }
    current_.info.bytes = *bytes;
    tensors_.push_back(std::move(current_));
  }

  std::string_view header_;
  std::string where_;
  State state_ = State::start;
  Field field_ = Field::none;
  bool in_metadata_ = false;
  std::string name_;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> inner_keys_;
  std::vector<std::uint64_t> numbers_;
  StoredTensor current_;
  std::uint64_t end_ = 0;
  std::vector<StoredTensor> tensors_;
};

// What can be told from the text alone, before it is parsed.
void check_header_text(std::string_view header, const std::string& where) {
  const auto fail = [&](const char* code, const std::string& what, const std::string& expected) {
    throw Error(ErrorKind::input, code, {.where = where, .what = what, .expected = expected});
  };
  if (const auto bad = first_invalid_utf8(header)) {
    fail("ST05", "the header is not valid UTF-8 at byte " + std::to_string(8 + *bad), "");
  }
  // White space before the object is accepted, as the format's own reader does.
  const std::size_t start = header.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || header[start] != '{') {
    fail("ST04", "the header does not start with {", "a safetensors file");
  }
  if (const std::size_t nul = header.find('\0'); nul != std::string_view::npos) {
    fail("ST06", "the header is not valid JSON at byte " + std::to_string(8 + nul), "");
  }
}

// The tensors must lie one behind the other from the first byte to the last.
void check_tiling(const std::vector<StoredTensor>& tensors, std::uint64_t data_bytes,
                  const std::string& where) {
  std::vector<const StoredTensor*> order;
  order.reserve(tensors.size());
  for (const StoredTensor& t : tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->offset, a->info.bytes) < std::pair(b->offset, b->info.bytes);
  });
  std::uint64_t end = 0;
  for (const StoredTensor* t : order) {
    if (t->offset != end) {
      throw Error(
          ErrorKind::input, "ST13",
          {.where = where,
           .what = "tensor " + quote(t->info.name) +
                   (t->offset < end ? " overlaps the one before it" : " leaves a hole before it"),
           .expected = "data_offsets from " + std::to_string(end),
           .got = std::to_string(t->offset)});
    }
    end += t->info.bytes;
  }
  if (end > data_bytes) {
    throw Error(ErrorKind::input, "ST15",
                {.where = where,
                 .what = "the file is cut",
                 .expected = count_of(end, "byte") + " of data",
                 .got = std::to_string(data_bytes),
                 .next = "download it again?"});
  }
  if (end < data_bytes) {
    throw Error(ErrorKind::input, "ST14",
                {.where = where,
                 .what = count_of(data_bytes - end, "byte") + " after the last tensor",
                 .expected = count_of(end, "byte") + " of data",
                 .got = std::to_string(data_bytes)});
  }
}

}  // namespace

std::vector<StoredTensor> parse_safetensors_header(std::string_view header,
                                                   std::uint64_t data_bytes,
                                                   const std::string& where) {
  check_header_text(header, where);
  HeaderBuilder builder(header, where);
  json::sax_parse(header.begin(), header.end(), &builder);
  std::vector<StoredTensor> tensors = builder.take();
  check_tiling(tensors, data_bytes, where);
  return tensors;
}

}  // namespace attnscope
