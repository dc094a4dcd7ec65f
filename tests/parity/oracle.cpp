#include "oracle.h"

#include <cstring>

#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

bool is_input(const std::string& array) {
  for (const char* name :
       {"input_ids", "attention_mask", "token_type_ids", "position_ids", "logit_ids"}) {
    if (array == name) return true;
  }
  return false;
}

}  // namespace

const std::vector<std::string>& families() {
  static const std::vector<std::string> names = {"gpt2",    "gpt_neox",   "llama",  "mistral",
                                                 "qwen2",   "qwen3",      "gemma2", "bert",
                                                 "roberta", "distilbert", "albert"};
  return names;
}

std::string family_folder(const std::string& family) {
  return fixture("families/" + family);
}

OracleCase Oracle::input(const std::string& name) const {
  const NpzArray& shaped = arrays_.at(name + "/input_ids");
  const std::vector<std::int64_t> ids = shaped.as_int64();
  const std::vector<std::int64_t> mask = arrays_.at(name + "/attention_mask").as_int64();
  std::vector<std::int64_t> types;
  if (has(name + "/token_type_ids")) types = arrays_.at(name + "/token_type_ids").as_int64();

  OracleCase input{.name = name};
  const std::int64_t length = shaped.shape[1];
  for (std::int64_t b = 0; b < shaped.shape[0]; ++b) {
    TokenRow row;
    RowSpan span;
    for (std::int64_t t = 0; t < length; ++t) {
      const auto at = static_cast<std::size_t>(b * length + t);
      if (mask[at] == 0) continue;
      if (row.ids.empty()) span.start = static_cast<int>(t);
      row.ids.push_back(ids[at]);
      if (!types.empty()) row.token_types.push_back(types[at]);
    }
    span.length = static_cast<int>(row.ids.size());
    input.rows.push_back(row);
    input.spans.push_back(span);
  }
  return input;
}

at::Tensor Oracle::array(const std::string& name) const {
  const NpzArray& array = arrays_.at(name);
  const std::vector<double> values = array.as_double();
  return at::tensor(values, at::kDouble).reshape(array.shape);
}

std::vector<std::string> Oracle::outputs(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [key, array] : arrays_) {
    if (!key.starts_with(name + "/")) continue;
    const std::string rest = key.substr(name.size() + 1);
    if (!is_input(rest)) names.push_back(rest);
  }
  return names;
}

at::Tensor oracle_row(const OracleCase& input, const std::string& array, const at::Tensor& value,
                      int row) {
  const RowSpan span = input.spans[static_cast<std::size_t>(row)];
  const at::Tensor one = value.select(0, row);
  if (array.ends_with("hook_pattern")) {
    return one.narrow(1, span.start, span.length).narrow(2, span.start, span.length);
  }
  return one.narrow(0, span.start, span.length);
}

}  // namespace attnscope::testing
