// The packed layout: tokens and activations of all prompts one after the other.
#include <algorithm>
#include <limits>
#include <set>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "writer_state.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

std::string as_text(const ColumnValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return format_number(*number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return std::get<std::string>(value);
}

// One column of the prompt table: text if any value is text, integers if all are, else numbers.
// A prompt without the column has "" or NaN.
void put_column(h5::Group& group, const std::string& name,
                const std::vector<std::map<std::string, ColumnValue>>& rows,
                ChunkCompressor& compressor) {
  bool any_text = false;
  bool all_integers = true;
  for (const auto& row : rows) {
    const auto found = row.find(name);
    any_text |= found != row.end() && std::holds_alternative<std::string>(found->second);
    all_integers &= found != row.end() && std::holds_alternative<std::int64_t>(found->second);
  }
  const Labels labels{"prompts", -1, {"p"}};
  if (any_text) {
    std::vector<std::string> texts;
    for (const auto& row : rows) {
      const auto found = row.find(name);
      texts.push_back(found == row.end() ? "" : as_text(found->second));
    }
    put_texts(group, name, texts, labels, compressor);
  } else if (all_integers) {
    std::vector<std::int64_t> values;
    for (const auto& row : rows) values.push_back(std::get<std::int64_t>(row.at(name)));
    put_table(group, name, {.type = h5::Type::of(h5::Scalar::i64), .dims = {values.size()}}, labels,
              bytes_of(values), compressor);
  } else {
    std::vector<double> values;
    for (const auto& row : rows) {
      const auto found = row.find(name);
      const auto* number = found == row.end() ? nullptr : std::get_if<double>(&found->second);
      const auto* integer =
          found == row.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
      values.push_back(number != nullptr    ? *number
                       : integer != nullptr ? static_cast<double>(*integer)
                                            : std::numeric_limits<double>::quiet_NaN());
    }
    put_table(group, name, {.type = h5::Type::of(h5::Scalar::f64), .dims = {values.size()}}, labels,
              bytes_of(values), compressor);
  }
}

}  // namespace

void storage_detail::write_rows(h5::Dataset& dataset, std::int64_t first, std::uint64_t rows,
                                const void* data) {
  h5::Slab slab{.offset = h5::Dims(dataset.dims().size(), 0), .extent = dataset.dims()};
  slab.offset[0] = static_cast<std::uint64_t>(first);
  slab.extent[0] = rows;
  if (rows > 0) dataset.write(slab, data);
}

void CaptureWriter::State::add_packed(const PromptRecord& prompt,
                                      std::span<const std::int64_t> positions) {
  const TokenTable& tokens = prompt.tokens;
  const auto n = static_cast<std::int64_t>(tokens.ids.size());
  const std::int64_t first = packed.offsets.back();
  const bool by_position = options.packed.rows != options.packed.tokens;
  if (first + n > options.packed.tokens || prompt_count >= options.packed.prompts ||
      prompt.target) {
    misuse(path, "more prompts or tokens than planned, or a prompt with a target",
           std::to_string(options.packed.prompts) + " prompts of " +
               std::to_string(options.packed.tokens) + " tokens",
           "prompt " + std::to_string(prompt_count));
  }
  for (const auto& [name, value] : prompt.columns) {
    require_column_name(name);
    const auto& known = packed.column_names;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      packed.column_names.push_back(name);
    }
  }
  const auto put = [&](const char* name, const h5::Type& type, std::uint64_t axis,
                       std::span<const std::byte> values) {
    const bool is_new = packed.tokens.find(name) == packed.tokens.end();
    if (values.empty() && is_new) return;
    h5::Dataset& table = packed.tokens[name];
    if (is_new) {
      if (first > 0)
        misuse(path, std::string("a token column that earlier prompts lack"), "", name);
      h5::Dims dims{static_cast<std::uint64_t>(options.packed.tokens)};
      if (axis > 0) dims.push_back(axis);
      h5::Group group = root->require_group("tokens");
      std::vector<std::string> labels{"n"};
      if (axis > 0) labels.emplace_back("range");
      table = create_table(group, name, {.type = type, .dims = dims, .packing = Packing::raw},
                           {"tokens", -1, labels});
    }
    const std::uint64_t row = type.bytes * std::max<std::uint64_t>(1, axis);
    if (values.size() != row * tokens.ids.size()) {
      misuse(path, std::string("not one value a token: ") + name, "", "");
    }
    write_rows(table, first, tokens.ids.size(), values.data());
  };
  if (longest(tokens.text) > options.packed.token_text_bytes) {
    misuse(path, "a token text is longer than planned",
           std::to_string(options.packed.token_text_bytes), std::to_string(longest(tokens.text)));
  }
  put("ids", h5::Type::of(h5::Scalar::i64), 0, bytes_of(tokens.ids));
  put("text", h5::Type::text(options.packed.token_text_bytes), 0,
      pad_texts(tokens.text, options.packed.token_text_bytes));
  put("char_offsets", h5::Type::of(h5::Scalar::i32), 2, bytes_of(tokens.char_offsets));
  put("position_ids", h5::Type::of(h5::Scalar::i32), 0, bytes_of(tokens.position_ids));
  put("token_type_ids", h5::Type::of(h5::Scalar::i32), 0, bytes_of(tokens.token_type_ids));
  put("step", h5::Type::of(h5::Scalar::i32), 0, bytes_of(tokens.step));

  packed.offsets.push_back(first + n);
  const std::int64_t rows = by_position ? static_cast<std::int64_t>(positions.size()) : n;
  packed.row_offsets.push_back(packed.row_offsets.back() + rows);
  if (by_position)
    packed.positions.insert(packed.positions.end(), positions.begin(), positions.end());
  packed.text.push_back(prompt.text);
  packed.group.push_back(prompt.group);
  packed.label.push_back(prompt.label);
  packed.columns.emplace_back(prompt.columns.begin(), prompt.columns.end());
}

h5::Dataset& CaptureWriter::State::packed_site(HookId hook, const h5::Type& type, h5::Dims dims,
                                               const std::vector<std::int64_t>& heads) {
  const auto found = packed.sites.find(hook);
  if (found != packed.sites.end()) return found->second;
  dims[0] = static_cast<std::uint64_t>(options.packed.rows);
  h5::Group group = root->require_group("packed");
  h5::Dataset dataset = create_table(
      group, hook_name(hook),
      {.type = type, .dims = dims, .packing = Packing::raw, .prefill = h5::Prefill::no},
      {site_label(hook), hook.layer, stored_dims(hook.site, FileLayout::packed)});
  if (!heads.empty()) dataset.set_integers("heads", heads);
  return packed.sites[hook] = std::move(dataset);
}

void CaptureWriter::State::write_packed_site(int prompt, HookId hook, const TensorView& value,
                                             const Subset& subset) {
  const std::int64_t first = packed.row_offsets[static_cast<std::size_t>(prompt)];
  const std::int64_t rows = packed.row_offsets[static_cast<std::size_t>(prompt) + 1] - first;
  if (value.shape[0] != rows || packed.site_rows[hook] != first) {
    misuse(hook_name(hook), "packed rows out of order or of another number than the prompt's",
           std::to_string(rows) + " rows at " + std::to_string(packed.site_rows[hook]),
           std::to_string(value.shape[0]) + " at " + std::to_string(first));
  }
  h5::Dataset& dataset = packed_site(hook, h5::type_of(value.dtype), dims_of(value), subset.heads);
  const std::vector<std::byte> copy =
      value.is_contiguous() ? std::vector<std::byte>{} : dense(value);
  write_rows(dataset, first, static_cast<std::uint64_t>(rows),
             value.is_contiguous() ? value.data : copy.data());
  packed.site_rows[hook] = first + rows;
}

void CaptureWriter::State::write_packed_head_stats(const OpenAttention& attention,
                                                   std::span<const std::byte> values,
                                                   std::int64_t slot) {
  const AttentionPlan& plan = attention.plan;
  h5::Dataset& table = packed_head_stats(plan);
  table.write(
      {.offset = {static_cast<std::uint64_t>(attention.prompt), static_cast<std::uint64_t>(slot), 0,
                  0},
       .extent = {1, 1, static_cast<std::uint64_t>(attention.heads), plan.head_stats.size()}},
      values.data());
}

h5::Dataset& CaptureWriter::State::packed_head_stats(const AttentionPlan& plan) {
  const auto found = packed.head_stats.find(plan.stack);
  if (found != packed.head_stats.end()) return found->second;
  const std::uint64_t layers = plan.layers.size();
  const std::uint64_t heads =
      static_cast<std::uint64_t>(*std::max_element(plan.n_heads.begin(), plan.n_heads.end()));
  h5::Group group = root->require_group(std::string("packed/attention/") + stack_name(plan.stack));
  const Labels by_layer{"attention", -1, {"l"}};
  const TableSpec list{.type = h5::Type::of(h5::Scalar::i64), .dims = {layers}};
  put_table(group, "layers", list, by_layer, bytes_of(plan.layers), compressor);
  put_table(group, "n_heads", list, by_layer, bytes_of(plan.n_heads), compressor);
  h5::Dataset table = create_table(group, "head_stats",
                                   {.type = h5::Type::of(h5::Scalar::f32),
                                    .dims = {static_cast<std::uint64_t>(options.packed.prompts),
                                             layers, heads, plan.head_stats.size()},
                                    .packing = Packing::raw},
                                   {"attn.hook_pattern", -1, {"p", "l", "h", "s"}});
  table.set_texts("names", plan.head_stats);
  return packed.head_stats[plan.stack] = std::move(table);
}

void CaptureWriter::State::finish_packed() {
  const PackedPlan& plan = options.packed;
  if (prompt_count != plan.prompts || packed.offsets.back() != plan.tokens ||
      packed.row_offsets.back() != plan.rows) {
    misuse(path, "fewer prompts, tokens or rows than planned",
           std::to_string(plan.prompts) + ", " + std::to_string(plan.tokens) + ", " +
               std::to_string(plan.rows),
           std::to_string(prompt_count) + ", " + std::to_string(packed.offsets.back()) + ", " +
               std::to_string(packed.row_offsets.back()));
  }
  const Labels by_prompt{"prompts", -1, {"p"}};
  put_texts(*prompts, "text", packed.text, by_prompt, compressor);
  put_texts(*prompts, "group", packed.group, by_prompt, compressor);
  put_texts(*prompts, "label", packed.label, by_prompt, compressor);
  for (const std::string& name : packed.column_names) {
    put_column(*prompts, name, packed.columns, compressor);
  }
  const auto put_list = [this](h5::Group& group, const char* name, const char* axis,
                               const std::vector<std::int64_t>& values) {
    put_table(group, name, {.type = h5::Type::of(h5::Scalar::i64), .dims = {values.size()}},
              {"tokens", -1, {axis}}, bytes_of(values), compressor);
  };
  put_list(*root, "offsets", "p+1", packed.offsets);
  if (plan.rows != plan.tokens) {
    h5::Group group = root->require_group("packed");
    put_list(group, "offsets", "p+1", packed.row_offsets);
    put_list(group, "positions", "n", packed.positions);
  }
  for (auto& [name, table] : packed.tokens) seal(table);
  for (auto& [hook, dataset] : packed.sites) {
    if (packed.site_rows[hook] != plan.rows) {
      misuse(hook_name(hook), "a packed site lacks prompts", std::to_string(plan.rows) + " rows",
             std::to_string(packed.site_rows[hook]));
    }
    seal(dataset);
  }
  for (auto& [stack, table] : packed.head_stats) seal(table);
}

}  // namespace attnscope
