// What a file says of its model, run and prompts, and the statistics of attention.
#include <algorithm>

#include "attnscope/support/utf8.h"
#include "reader_state.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

std::string read_text(const h5::Group& group, const std::string& name) {
  if (!group.has(name)) return {};
  const auto texts = read_texts(group.open_dataset(name));
  return texts.empty() ? std::string() : texts.front();
}

template <typename T>
std::vector<T> as_integers(const Array& array) {
  std::vector<T> out;
  for (const double value : array.as_double()) out.push_back(static_cast<T>(value));
  return out;
}

std::vector<std::array<std::int32_t, 2>> as_pairs(const Array& array) {
  const auto flat = as_integers<std::int32_t>(array);
  std::vector<std::array<std::int32_t, 2>> out;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) out.push_back({flat[i], flat[i + 1]});
  return out;
}

// The tokens in `group`, of which the packed layout takes rows.
TokenTable read_tokens(const h5::Group& group, const std::optional<h5::Slab>& rows) {
  TokenTable tokens;
  const auto slab_of = [&](const h5::Dataset& dataset) {
    h5::Slab slab{.offset = h5::Dims(dataset.dims().size(), 0), .extent = dataset.dims()};
    if (rows && !slab.extent.empty()) {
      slab.offset[0] = rows->offset[0];
      slab.extent[0] = rows->extent[0];
    }
    return slab;
  };
  const auto integers = [&](const char* name) {
    if (!group.has(name)) return Array{};
    const h5::Dataset dataset = group.open_dataset(name);
    return read_part(dataset, slab_of(dataset));
  };
  tokens.ids = as_integers<std::int64_t>(integers("ids"));
  if (group.has("text")) {
    const h5::Dataset text = group.open_dataset("text");
    tokens.text = read_texts(text, slab_of(text));
  }
  tokens.char_offsets = as_pairs(integers("char_offsets"));
  tokens.position_ids = as_integers<std::int32_t>(integers("position_ids"));
  tokens.token_type_ids = as_integers<std::int32_t>(integers("token_type_ids"));
  tokens.step = as_integers<std::int32_t>(integers("step"));
  if (!rows && group.has("bytes") && group.has("byte_offsets")) {
    const Array bytes = integers("bytes");
    const auto offsets = as_integers<std::size_t>(integers("byte_offsets"));
    const auto* data = reinterpret_cast<const char*>(bytes.data.data());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      if (offsets[i + 1] < offsets[i] || offsets[i + 1] > bytes.data.size()) break;
      tokens.bytes.emplace_back(data + offsets[i], offsets[i + 1] - offsets[i]);
    }
  }
  return tokens;
}

std::optional<ColumnValue> read_attribute(const h5::Object& object, const std::string& name) {
  if (auto text = object.text(name)) return *text;
  if (const auto integer = object.integer(name)) return *integer;
  if (const auto number = object.number(name)) return *number;
  return std::nullopt;
}

ColumnValue read_cell(const h5::Dataset& column, std::uint64_t row) {
  const h5::Slab slab{.offset = {row}, .extent = {1}};
  const h5::Scalar scalar = column.type().scalar;
  if (scalar == h5::Scalar::text) {
    const auto texts = read_texts(column, slab);
    return texts.empty() ? std::string() : texts.front();
  }
  const auto values = read_part(column, slab).as_double();
  if (scalar == h5::Scalar::f64) return values.at(0);
  return static_cast<std::int64_t>(values.at(0));
}

}  // namespace

ModelInfo CaptureReader::model() const {
  ModelInfo model;
  if (!state_->root->has("model")) return model;
  const h5::Group group = state_->root->open_group("model");
  model.name = group.text("name").value_or("");
  model.family = group.text("family").value_or("");
  model.config_sha256 = group.text("config_sha256").value_or("");
  model.weights_sha256 = group.text("weights_sha256").value_or("");
  model.tokenizer_sha256 = group.text("tokenizer_sha256").value_or("");
  for (const std::string& name : group.attribute_names()) {
    if (const auto size = group.integer(name)) model.sizes[name] = *size;
  }
  model.config_json = read_text(group, "config_json");
  return model;
}

RunInfo CaptureReader::run() const {
  RunInfo run;
  if (!state_->root->has("run")) return run;
  const h5::Group group = state_->root->open_group("run");
  run.device = group.text("device").value_or("");
  run.dtype = group.text("dtype").value_or("");
  run.engine = group.text("engine").value_or("");
  run.engine_reason = group.text("engine_reason").value_or("");
  run.threads = group.integer("threads").value_or(0);
  run.seed = group.integer("seed").value_or(0);
  for (const std::string& name : group.attribute_names()) {
    if (name.rfind("lib_", 0) == 0) run.libraries[name.substr(4)] = group.text(name).value_or("");
  }
  run.options_json = read_text(group, "options_json");
  return run;
}

PromptRecord CaptureReader::prompt(int prompt) const {
  const State& s = *state_;
  s.require_prompt(prompt);
  PromptRecord record;
  if (s.layout == FileLayout::packed) {
    const auto p = static_cast<std::size_t>(prompt);
    const h5::Group prompts = s.root->open_group("prompts");
    for (const std::string& name : prompts.names()) {
      if (prompts.is_group(name)) continue;
      const h5::Dataset column = prompts.open_dataset(name);
      if (column.dims().size() != 1 || column.dims()[0] <= p) continue;
      ColumnValue value = read_cell(column, p);
      if (auto* text = std::get_if<std::string>(&value)) {
        std::string* place = name == "text"    ? &record.text
                             : name == "group" ? &record.group
                             : name == "label" ? &record.label
                                               : nullptr;
        if (place != nullptr) {
          *place = std::move(*text);
          continue;
        }
      }
      record.columns.emplace_back(name, std::move(value));
    }
    if (s.root->has("tokens")) {
      record.tokens = read_tokens(
          s.root->open_group("tokens"),
          h5::Slab{.offset = {static_cast<std::uint64_t>(s.offsets[p])},
                   .extent = {static_cast<std::uint64_t>(s.offsets[p + 1] - s.offsets[p])}});
    }
    return record;
  }
  const h5::Group group = s.root->open_group(s.group_path(prompt));
  record.text = read_text(group, "text");
  for (const std::string& name : group.attribute_names()) {
    auto value = read_attribute(group, name);
    if (!value) continue;
    if (name == "group" || name == "label") {
      auto* text = std::get_if<std::string>(&*value);
      if (text != nullptr) (name == "group" ? record.group : record.label) = *text;
    } else {
      record.columns.emplace_back(name, std::move(*value));
    }
  }
  if (group.is_group("columns")) {
    const h5::Group columns = group.open_group("columns");
    for (const std::string& name : columns.names()) {
      record.columns.emplace_back(name, read_text(columns, name));
    }
  }
  if (group.is_group("tokens/source")) {
    record.tokens = read_tokens(group.open_group("tokens/source"), std::nullopt);
    record.target = read_tokens(group.open_group("tokens/target"), std::nullopt);
  } else if (group.is_group("tokens")) {
    record.tokens = read_tokens(group.open_group("tokens"), std::nullopt);
  }
  return record;
}

std::optional<std::string> CaptureReader::State::find_table(int prompt, Stack stack,
                                                            AttentionTable table) const {
  require_prompt(prompt);
  const std::string name = attention_table_name(table);
  const std::string own = group_path(prompt) + "/attention/" + stack_name(stack);
  if (root->has(own + "/" + name)) return own;
  const std::string shared = std::string("packed/attention/") + stack_name(stack);
  if (table == AttentionTable::head_stats && root->has(shared + "/" + name)) return shared;
  return std::nullopt;
}

std::vector<Stack> CaptureReader::stacks(int prompt) const {
  std::vector<Stack> out;
  for (const Stack stack : {Stack::self, Stack::encoder, Stack::decoder, Stack::cross}) {
    if (has_table(prompt, stack, AttentionTable::head_stats)) out.push_back(stack);
  }
  return out;
}

bool CaptureReader::has_table(int prompt, Stack stack, AttentionTable table) const {
  return state_->find_table(prompt, stack, table).has_value();
}

StoredAttention CaptureReader::attention(int prompt, Stack stack) const {
  StoredAttention out{.stack = stack};
  const auto path = state_->find_table(prompt, stack, AttentionTable::head_stats);
  if (!path) return out;
  const h5::Group group = state_->root->open_group(*path);
  out.layers = read_integers(group.open_dataset("layers"));
  out.n_heads = read_integers(group.open_dataset("n_heads"));
  out.head_stats = group.open_dataset("head_stats").texts("names");
  if (group.has("row_stats")) out.row_stats = group.open_dataset("row_stats").texts("names");
  return out;
}

Array CaptureReader::read_table(int prompt, Stack stack, AttentionTable table) const {
  const auto path = state_->find_table(prompt, stack, table);
  if (!path) {
    state_->fail(state_->group_path(prompt), "no statistics of this kind were stored",
                 attention_table_name(table), "none");
  }
  const h5::Dataset dataset = state_->root->open_dataset(*path + "/" + attention_table_name(table));
  if (!state_->is_packed(*path)) return read_all(dataset);
  h5::Slab slab{.offset = h5::Dims(dataset.dims().size(), 0), .extent = dataset.dims()};
  if (slab.extent.size() != 4 || slab.extent[0] <= static_cast<std::uint64_t>(prompt)) {
    state_->fail(dataset.path(), "another shape", "[P,L,H,S]", "fewer prompts or axes");
  }
  slab.offset[0] = static_cast<std::uint64_t>(prompt);
  slab.extent[0] = 1;
  Array out = read_part(dataset, slab);
  out.shape.erase(out.shape.begin());
  return out;
}

}  // namespace attnscope
