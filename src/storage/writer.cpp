#include "attnscope/storage/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "header.h"
#include "writer_state.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace storage_detail {

void misuse(const std::string& where, const std::string& what, const std::string& expected,
            const std::string& got) {
  throw Error(ErrorKind::internal, "SW01",
              {.where = where, .what = what, .expected = expected, .got = got});
}

void set_subset(h5::Object& object, const Subset& subset) {
  if (!subset.heads.empty()) object.set_integers("heads", subset.heads);
  if (!subset.q_positions.empty()) object.set_integers("q_positions", subset.q_positions);
  if (!subset.k_positions.empty()) object.set_integers("k_positions", subset.k_positions);
}

std::string site_label(HookId hook) {
  return site_info(hook.site).name;
}

h5::Dims dims_of(const TensorView& value) {
  h5::Dims dims;
  for (int a = 0; a < value.rank; ++a) {
    dims.push_back(static_cast<std::uint64_t>(value.shape[static_cast<std::size_t>(a)]));
  }
  return dims;
}

namespace {

void gather(const TensorView& value, int axis, const std::byte* from, std::byte*& to) {
  const std::size_t bytes = dtype_size(value.dtype);
  if (axis == value.rank) {
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  const auto a = static_cast<std::size_t>(axis);
  if (axis + 1 == value.rank && value.strides[a] == 1) {
    const std::size_t run = static_cast<std::size_t>(value.shape[a]) * bytes;
    std::memcpy(to, from, run);
    to += run;
    return;
  }
  for (std::int64_t i = 0; i < value.shape[a]; ++i) {
    gather(value, axis + 1, from + i * value.strides[a] * static_cast<std::int64_t>(bytes), to);
  }
}

// Long columns would not fit an object header.
constexpr std::size_t kShortColumn = 256;

void set_column(h5::Group& group, const std::string& name, const ColumnValue& value) {
  require_column_name(name);
  if (const auto* number = std::get_if<double>(&value)) return group.set_number(name, *number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return group.set_integer(name, *integer);
  }
  const std::string& text = std::get<std::string>(value);
  if (text.size() <= kShortColumn) return group.set_text(name, text);
  h5::Group columns = group.require_group("columns");
  put_text(columns, name, text, "prompts");
}

}  // namespace

std::vector<std::byte> dense(const TensorView& value) {
  std::vector<std::byte> out(static_cast<std::size_t>(value.numel()) * dtype_size(value.dtype));
  std::byte* to = out.data();
  if (!out.empty()) gather(value, 0, static_cast<const std::byte*>(value.data), to);
  return out;
}

void require_column_name(const std::string& name) {
  const bool plain = !name.empty() && name.size() <= 200 && !first_invalid_utf8(name) &&
                     std::none_of(name.begin(), name.end(), [](char c) {
                       return c == '/' || static_cast<unsigned char>(c) < 0x20;
                     });
  const bool ours = name == "." || name == "text" || name == "group" || name == "label";
  if (plain && !ours) return;
  throw Error(
      ErrorKind::input, "SW02",
      {.what = "column " + quote(name) + " cannot be stored under this name",
       .expected = "a name without '/' and control characters, other than text, group, label",
       .next = "rename the column"});
}

}  // namespace storage_detail

CaptureWriter::CaptureWriter(const std::string& path, const FileInfo& file, const ModelInfo& model,
                             const RunInfo& run, const WriterOptions& options)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.options = options;
  s.path = path;
  s.file.emplace(h5::File::create(path));
  s.root = s.file->root();
  write_header(*s.root, file, model, run);
  s.root->set_text("layout", options.layout == FileLayout::packed ? "packed" : "per_prompt");
  s.prompts = s.root->create_group("prompts");
}

CaptureWriter::CaptureWriter(CaptureWriter&&) noexcept = default;

CaptureWriter::~CaptureWriter() = default;

CaptureWriter::State::~State() {
  if (!file) return;
  file.reset();
  // The space of the dropped file is given back even where a handle had to be left open.
  if (const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC); fd >= 0) {
    static_cast<void>(::ftruncate(fd, 0) == 0);
    ::close(fd);
  }
  ::unlink(path.c_str());
}

h5::Group CaptureWriter::State::prompt_group(int prompt) {
  const std::string name = prompt_group_name(prompt);
  return prompts->has(name) ? prompts->open_group(name) : prompts->create_group(name);
}

h5::Group CaptureWriter::State::cache_group(int prompt) {
  return prompt_group(prompt).require_group("cache");
}

void CaptureWriter::State::require_prompt(int prompt) const {
  if (prompt < 0 || prompt >= prompt_count) {
    misuse(path, "prompt out of range", "0 … " + std::to_string(prompt_count - 1),
           std::to_string(prompt));
  }
}

void CaptureWriter::State::write_tokens(h5::Group& group, const TokenTable& tokens) {
  const std::uint64_t n = tokens.ids.size();
  const auto put = [&](const char* name, h5::Scalar scalar, const auto& values) {
    if (values.empty()) return;
    put_table(group, name, {.type = h5::Type::of(scalar), .dims = {n}}, {"tokens", -1, {"t"}},
              bytes_of(values), compressor);
  };
  put("ids", h5::Scalar::i64, tokens.ids);
  put_texts(group, "text", tokens.text, {"tokens", -1, {"t"}}, compressor);
  if (!tokens.bytes.empty()) {
    const std::string bytes = join(tokens.bytes, "");
    std::vector<std::int64_t> offsets{0};
    for (const std::string& piece : tokens.bytes) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(piece.size()));
    }
    put_table(group, "bytes", {.type = h5::Type::of(h5::Scalar::u8), .dims = {bytes.size()}},
              {"tokens", -1, {"byte"}}, std::as_bytes(std::span(bytes)), compressor);
    put_table(group, "byte_offsets", {.type = h5::Type::of(h5::Scalar::i64), .dims = {n + 1}},
              {"tokens", -1, {"t+1"}}, bytes_of(offsets), compressor);
  }
  if (!tokens.char_offsets.empty()) {
    put_table(group, "char_offsets", {.type = h5::Type::of(h5::Scalar::i32), .dims = {n, 2}},
              {"tokens", -1, {"t", "range"}}, bytes_of(tokens.char_offsets), compressor);
  }
  put("position_ids", h5::Scalar::i32, tokens.position_ids);
  put("token_type_ids", h5::Scalar::i32, tokens.token_type_ids);
  put("step", h5::Scalar::i32, tokens.step);
}

int CaptureWriter::add_prompt(const PromptRecord& prompt, std::span<const std::int64_t> positions) {
  State& s = *state_;
  if (s.options.layout == FileLayout::packed) {
    s.add_packed(prompt, positions);
    return s.prompt_count++;
  }
  h5::Group group = s.prompt_group(s.prompt_count);
  group.set_text("group", prompt.group);
  group.set_text("label", prompt.label);
  for (const auto& [name, value] : prompt.columns) set_column(group, name, value);
  put_text(group, "text", prompt.text, "prompts");
  h5::Group tokens = group.create_group("tokens");
  if (prompt.target) {
    h5::Group source = tokens.create_group("source");
    h5::Group target = tokens.create_group("target");
    s.write_tokens(source, prompt.tokens);
    s.write_tokens(target, *prompt.target);
  } else {
    s.write_tokens(tokens, prompt.tokens);
  }
  return s.prompt_count++;
}

void CaptureWriter::write_site(int prompt, HookId hook, const TensorView& value,
                               const Subset& subset) {
  State& s = *state_;
  s.require_prompt(prompt);
  const std::vector<std::string> dims = stored_dims(hook.site, s.options.layout);
  if (value.rank != static_cast<int>(dims.size())) {
    misuse(hook_name(hook), "the value has another rank than the site", join(dims, " "),
           std::to_string(value.rank) + " axes");
  }
  if (s.options.layout == FileLayout::packed)
    return s.write_packed_site(prompt, hook, value, subset);
  h5::Group cache = s.cache_group(prompt);
  h5::Dataset dataset = create_table(
      cache, hook_name(hook),
      {.type = h5::type_of(value.dtype), .dims = dims_of(value), .packing = Packing::raw},
      {site_label(hook), hook.layer, dims});
  set_subset(dataset, subset);
  if (value.is_contiguous()) {
    dataset.write(value.data);
  } else {
    dataset.write(dense(value).data());
  }
  seal(dataset);
}

void CaptureWriter::finish() {
  State& s = *state_;
  if (!s.maps.empty() || !s.attentions.empty()) {
    misuse(s.path, "a map or a table of statistics is still open", "close_map, close_attention",
           std::to_string(s.maps.size() + s.attentions.size()) + " open");
  }
  if (s.options.layout == FileLayout::packed) s.finish_packed();
  s.packed = {};
  s.prompts.reset();
  s.root.reset();
  s.file->close();
  s.file.reset();
}

}  // namespace attnscope
