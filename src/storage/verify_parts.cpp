#include "verify_parts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::storage_detail {
namespace {

// Indices and values of the largest weights of each row.
void check_top(const std::string& path, const Array& index, const Array& value, std::int64_t keys,
               std::vector<Finding>& findings) {
  if (index.shape != value.shape || index.shape.size() != 4) {
    findings.push_back({path, "topk_index and topk_value", "one shape [l h q K]", "others"});
    return;
  }
  const auto indices = index.as_double();
  const auto values = value.as_double();
  const auto top = static_cast<std::size_t>(index.shape[3]);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const bool absent = indices[i] < 0;
    const bool in_range = indices[i] >= -1 && indices[i] < static_cast<double>(keys);
    const bool paired = absent == std::isnan(values[i]);
    const bool in_order = absent || i % top == 0 || values[i] <= values[i - 1];
    if (in_range && paired && in_order) continue;
    findings.push_back(
        {path + "/topk_index", "top keys of row " + std::to_string(i / top),
         "indices below " + std::to_string(keys) + " with values in falling order, or -1 with NaN",
         format_number(indices[i]) + " with " + format_number(values[i])});
    return;
  }
}

void check_head_stats(const std::string& path, const StoredAttention& about, const Array& stats,
                      std::vector<Finding>& findings) {
  const auto layers = static_cast<std::int64_t>(about.layers.size());
  const std::int64_t heads =
      about.n_heads.empty() ? 0 : *std::max_element(about.n_heads.begin(), about.n_heads.end());
  const auto names = static_cast<std::int64_t>(about.head_stats.size());
  if (about.n_heads.size() != about.layers.size() ||
      stats.shape != std::vector<std::int64_t>{layers, heads, names}) {
    findings.push_back(
        {path + "/head_stats", "shape", "[l h s] of layers, n_heads and names", "another"});
    return;
  }
  const auto values = stats.as_double();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = about.head_stats[i % about.head_stats.size()];
    const bool share = name == "max" || name == "sink" || name == "self" || name == "previous" ||
                       name == "next" || name == "duplicate" || name == "induction" ||
                       name == "learned_sink";
    const bool fine = std::isnan(values[i]) || !share || (values[i] >= -1e-6 && values[i] <= 1.001);
    if (fine) continue;
    findings.push_back({path + "/head_stats", name, "0 … 1", format_number(values[i])});
    return;
  }
}

bool ascends_from_zero(const std::vector<double>& offsets, double last) {
  return !offsets.empty() && offsets.front() == 0 && offsets.back() == last &&
         std::is_sorted(offsets.begin(), offsets.end());
}

std::vector<double> read_numbers(const h5::Group& group, const std::string& name) {
  const h5::Dataset dataset = group.open_dataset(name);
  std::vector<double> out;
  if (dataset.type().scalar == h5::Scalar::i64) {
    std::vector<std::int64_t> values(dataset.count());
    dataset.read(values.data());
    out.assign(values.begin(), values.end());
  }
  return out;
}

void check_tokens(const h5::Group& tokens, std::vector<Finding>& findings) {
  for (const char* name : {"ids", "text"}) {
    if (!tokens.has(name)) findings.push_back({tokens.path(), name, "a dataset", "none"});
  }
  if (!tokens.has("ids")) return;
  const std::uint64_t count = tokens.open_dataset("ids").count();
  for (const char* name : {"text", "char_offsets", "position_ids", "token_type_ids", "step"}) {
    if (!tokens.has(name)) continue;
    const h5::Dims dims = tokens.open_dataset(name).dims();
    if (dims.empty() || dims[0] != count) {
      findings.push_back({tokens.path() + "/" + name, "length", std::to_string(count),
                          dims.empty() ? "none" : std::to_string(dims[0])});
    }
  }
  if (!tokens.has("byte_offsets") || !tokens.has("bytes")) return;
  const auto bytes = static_cast<double>(tokens.open_dataset("bytes").count());
  const auto offsets = read_numbers(tokens, "byte_offsets");
  if (offsets.size() != count + 1 || !ascends_from_zero(offsets, bytes)) {
    findings.push_back({tokens.path() + "/byte_offsets", "offsets",
                        "ascending from 0 to " + format_number(bytes), "others"});
  }
}

void check_prompt_group(const h5::Group& group, std::vector<Finding>& findings) {
  for (const char* name : {"group", "label"}) {
    if (!group.text(name)) {
      findings.push_back({group.path(), std::string("attribute ") + name, "text", "none"});
    }
  }
  if (!group.has("text")) findings.push_back({group.path(), "text", "a dataset", "none"});
  if (!group.is_group("tokens")) {
    findings.push_back({group.path(), "tokens", "a group", "none"});
    return;
  }
  const h5::Group tokens = group.open_group("tokens");
  if (tokens.is_group("source")) {
    check_tokens(tokens.open_group("source"), findings);
    check_tokens(tokens.open_group("target"), findings);
  } else {
    check_tokens(tokens, findings);
  }
}

}  // namespace

void note_errors(const std::string& path, std::vector<Finding>& findings,
                 const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    findings.push_back({path, error.detail().what, error.detail().expected, error.detail().got});
  }
}

void check_header(const h5::Group& root, std::vector<Finding>& findings) {
  const auto require = [&](const h5::Group& group, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (!group.text(name)) {
        findings.push_back({group.path(), std::string("attribute ") + name, "text", "none"});
      }
    }
  };
  require(root, {"run_id", "tool_version", "git_commit"});
  const std::string layout = root.text("layout").value_or("per_prompt");
  if (layout != "per_prompt" && layout != "packed") {
    findings.push_back({"/", "attribute layout", "per_prompt or packed", quote(layout)});
  }
  if (root.has_attribute("shard")) {
    const auto shard = root.integers("shard");
    if (shard.size() != 2 || shard[0] < 0 || shard[0] >= shard[1]) {
      findings.push_back({"/", "attribute shard", "[i, N] with 0 ≤ i < N", "others"});
    }
  }
  for (const auto& [name, text] : {std::pair{"model", "config_json"}, {"run", "options_json"}}) {
    if (!root.is_group(name)) {
      findings.push_back({std::string("/") + name, "group", "a group", "none"});
    } else if (!root.open_group(name).has(text)) {
      findings.push_back({std::string("/") + name + "/" + text, "dataset", "text", "none"});
    }
  }
  if (root.is_group("model")) {
    require(root.open_group("model"), {"name", "family", "weight_processing", "config_sha256",
                                       "weights_sha256", "tokenizer_sha256"});
  }
  if (root.is_group("run")) require(root.open_group("run"), {"device", "dtype", "engine"});
}

void check_prompts(const CaptureReader& reader, const h5::Group& root,
                   std::vector<Finding>& findings) {
  if (reader.layout() == FileLayout::per_prompt) {
    for (int p = 0; p < reader.prompts(); ++p) {
      const std::string path = "prompts/" + prompt_group_name(p);
      note_errors("/" + path, findings,
                  [&] { check_prompt_group(root.open_group(path), findings); });
    }
    return;
  }
  note_errors("/tokens", findings, [&] {
    check_tokens(root.open_group("tokens"), findings);
    const auto count = static_cast<double>(root.open_dataset("tokens/ids").count());
    if (!ascends_from_zero(read_numbers(root, "offsets"), count)) {
      findings.push_back(
          {"/offsets", "offsets", "ascending from 0 to " + format_number(count), "others"});
    }
    for (const char* name : {"text", "group", "label"}) {
      const std::string path = std::string("prompts/") + name;
      if (!root.has(path)) {
        findings.push_back({"/" + path, "dataset", "[P]", "none"});
      } else if (root.open_dataset(path).count() != static_cast<std::uint64_t>(reader.prompts())) {
        findings.push_back({"/" + path, "length", std::to_string(reader.prompts()),
                            std::to_string(root.open_dataset(path).count())});
      }
    }
  });
}

void check_statistics(const CaptureReader& reader, int prompt, std::vector<Finding>& findings) {
  for (const Stack stack : reader.stacks(prompt)) {
    const std::string path =
        "/prompts/" + prompt_group_name(prompt) + "/attention/" + stack_name(stack);
    const StoredAttention about = reader.attention(prompt, stack);
    check_head_stats(path, about, reader.read_table(prompt, stack, AttentionTable::head_stats),
                     findings);
    if (!reader.has_table(prompt, stack, AttentionTable::topk_index)) continue;
    const Array keys = reader.read_table(prompt, stack, AttentionTable::key_sum);
    check_top(path, reader.read_table(prompt, stack, AttentionTable::topk_index),
              reader.read_table(prompt, stack, AttentionTable::topk_value),
              keys.shape.empty() ? 0 : keys.shape.back(), findings);
  }
}

}  // namespace attnscope::storage_detail
