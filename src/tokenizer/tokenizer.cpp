#include "attnscope/tokenizer/tokenizer.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "added_tokens.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/utf8.h"
#include "byte_level.h"
#include "config.h"
#include "decoders.h"
#include "json_loader.h"
#include "models.h"
#include "normalizers.h"
#include "post_processors.h"
#include "pre_tokenizers.h"
#include "split_text.h"
#include "unicode.h"

namespace attnscope {

namespace {

constexpr std::uint64_t kMaxFileBytes = 256ull << 20;
constexpr std::uint64_t kMaxCompanionBytes = 16ull << 20;

// For each byte of `text` (and its end), how many code points begin before it; empty when every
// byte is one code point.
std::vector<std::uint32_t> code_point_index(std::string_view text) {
  std::vector<std::uint32_t> index;
  if (tok::is_ascii(text)) return index;
  index.reserve(text.size() + 1);
  std::uint32_t n = 0;
  for (std::size_t pos = 0; pos < text.size();) {
    const std::size_t end = pos + tok::utf8_length(text[pos]);
    index.resize(end, n++);
    pos = end;
  }
  index.push_back(n);
  return index;
}

// `text` as valid UTF-8: itself, or a repaired copy in `storage`.
std::string_view checked_text(std::string_view text, InvalidUtf8 policy, std::string& storage) {
  if (text.size() > Tokenizer::kMaxTextBytes) {
    throw Error(ErrorKind::limit, "TK52",
                {.where = "text",
                 .what = "the text is too long",
                 .expected = "at most " + std::to_string(Tokenizer::kMaxTextBytes) + " bytes",
                 .got = std::to_string(text.size()),
                 .next = "split it into several prompts"});
  }
  const auto bad = first_invalid_utf8(text);
  if (!bad) return text;
  if (policy == InvalidUtf8::replace) {
    storage = tok::repair_utf8(text);
    return storage;
  }
  throw Error(ErrorKind::input, "TK50",
              {.where = "text",
               .what = "not valid UTF-8 at byte " + std::to_string(*bad),
               .got = quote(text.substr(*bad, 8)),
               .next = "convert the text to UTF-8, or ask for invalid bytes to be replaced"});
}

}  // namespace

struct Tokenizer::Parts {
  Parts(tok::TokenizerFile file, tok::TokenizerConfig configuration);

  Encoding encode_text(std::string_view text, std::int64_t type) const;
  Encoding finish(std::vector<Encoding> parts, const EncodeOptions& options) const;
  void apply_bos(Encoding& encoding, const EncodeOptions& options) const;
  std::optional<std::int64_t> begin_token() const { return ids.bos ? ids.bos : ids.cls; }
  std::optional<std::string_view> piece(std::int64_t id) const;

  tok::TokenizerConfig config;
  std::unique_ptr<tok::TokenModel> model;
  std::unique_ptr<tok::Normalizer> normalizer;
  std::optional<tok::AddedTokens> added;
  std::unique_ptr<tok::PreTokenizer> pre_tokenizer;
  std::unique_ptr<tok::PostProcessor> post_processor;
  std::unique_ptr<tok::Decoder> decoder;
  SpecialIds ids;
  bool adds_bos = false;
  std::size_t vocab_size = 0;
  std::int64_t id_limit = 0;
};

Tokenizer::Parts::Parts(tok::TokenizerFile file, tok::TokenizerConfig configuration)
    : config(std::move(configuration)) {
  const JsonObject document(file.document, file.where, "TK03");
  model = tok::make_model(document.object("model"), file.tables);
  normalizer = tok::make_normalizer(document, "normalizer");
  added.emplace(document, model->vocabulary(), normalizer.get());
  pre_tokenizer = tok::make_pre_tokenizer(document, "pre_tokenizer");
  decoder = tok::make_decoder(document);
  post_processor =
      tok::make_post_processor(document, [this](std::int64_t id) { return piece(id).has_value(); });

  vocab_size = model->vocabulary().size();
  id_limit = model->vocabulary().max_id() + 1;
  for (const tok::AddedToken& token : added->tokens()) {
    if (!model->vocabulary().piece(token.id)) ++vocab_size;
    id_limit = std::max(id_limit, token.id + 1);
  }

  const auto any_id = [this](std::string_view text) -> std::optional<std::int64_t> {
    if (const tok::AddedToken* token = added->find(text)) return token->id;
    return model->vocabulary().id(text);
  };
  const auto special_id = [this](std::string_view text) -> std::optional<std::int64_t> {
    const tok::AddedToken* token = added->find(text);
    return token && token->special ? std::optional(token->id) : std::nullopt;
  };
  if (config.roles.unk.empty()) config.roles.unk = model->unknown_piece();
  ids = tok::find_special_ids(config, any_id, special_id);
  const bool has_template = post_processor && post_processor->is_template();
  adds_bos = has_template ? begin_token() && post_processor->first_token() == begin_token()
                          : config.add_bos_token.value_or(false) && ids.bos;
}

std::optional<std::string_view> Tokenizer::Parts::piece(std::int64_t id) const {
  if (const tok::AddedToken* token = added->find(id)) return token->content;
  return model->vocabulary().piece(id);
}

Encoding Tokenizer::Parts::encode_text(std::string_view text, std::int64_t type) const {
  tok::SplitText split = added->split(text, normalizer.get());
  if (pre_tokenizer) pre_tokenizer->apply(split);
  const std::vector<std::uint32_t> index = code_point_index(text);
  const auto to_char = [&index](std::size_t byte) { return index.empty() ? byte : index[byte]; };

  Encoding encoding;
  const auto push = [&](std::int64_t id, std::string_view piece, CharSpan span) {
    encoding.ids.push_back(id);
    encoding.pieces.emplace_back(piece);
    encoding.offsets.push_back(span);
  };
  tok::Workspace workspace;
  std::vector<tok::ModelToken> tokens;
  for (const tok::TextPiece& piece : split.pieces) {
    if (piece.begin == piece.end) continue;
    const auto span = [&](std::uint32_t begin, std::uint32_t end) {
      // Tokens of code points that left no symbol can end early, never late.
      const std::uint32_t last = std::min(piece.begin + end, piece.end);
      const std::uint32_t first = std::min(piece.begin + begin, last - 1);
      return CharSpan{to_char(split.spans[first].begin), to_char(split.spans[last - 1].end)};
    };
    const std::string_view word = split.view(piece);
    if (piece.token != tok::kNoToken) {
      push(piece.token, word, span(0, static_cast<std::uint32_t>(word.size())));
      continue;
    }
    tokens.clear();
    model->tokenize(word, workspace, tokens);
    for (const tok::ModelToken& token : tokens) {
      push(token.id,
           token.text == tok::PieceText::of_text ? word.substr(token.begin, token.end - token.begin)
                                                 : *model->vocabulary().piece(token.id),
           span(token.begin, token.end));
    }
  }
  encoding.token_types.assign(encoding.size(), type);
  encoding.special.assign(encoding.size(), 0);
  return encoding;
}

Encoding Tokenizer::Parts::finish(std::vector<Encoding> parts, const EncodeOptions& options) const {
  if (post_processor) parts = post_processor->apply(std::move(parts), options.specials);
  Encoding encoding = tok::join_encodings(std::move(parts));
  apply_bos(encoding, options);
  return encoding;
}

void Tokenizer::Parts::apply_bos(Encoding& encoding, const EncodeOptions& options) const {
  const auto begin = begin_token();
  const auto starts_with_it = [&](std::size_t at) {
    return begin && encoding.size() > at && encoding.ids[at] == *begin;
  };
  const auto insert = [&] {
    encoding.ids.insert(encoding.ids.begin(), *begin);
    encoding.pieces.emplace(encoding.pieces.begin(), piece(*begin).value_or(""));
    encoding.offsets.insert(encoding.offsets.begin(), CharSpan{});
    encoding.token_types.insert(encoding.token_types.begin(), 0);
    encoding.special.insert(encoding.special.begin(), 1);
  };
  const auto drop_first = [&] {
    encoding.ids.erase(encoding.ids.begin());
    encoding.pieces.erase(encoding.pieces.begin());
    encoding.offsets.erase(encoding.offsets.begin());
    encoding.token_types.erase(encoding.token_types.begin());
    encoding.special.erase(encoding.special.begin());
  };
  switch (options.bos) {
    case BosMode::automatic: {
      const bool by_template = post_processor && post_processor->is_template();
      if (adds_bos && !by_template && options.specials == SpecialTokens::add) insert();
      return;
    }
    case BosMode::on:
      if (!begin) {
        throw Error(ErrorKind::input, "TK53",
                    {.where = "tokenizer",
                     .what = "the tokenizer's files name no begin token, so none can be added"});
      }
      // The text itself may spell the token after the one that the template added.
      if (starts_with_it(0) && encoding.special[0] == 1 && starts_with_it(1)) drop_first();
      if (!starts_with_it(0)) insert();
      return;
    case BosMode::off:
      if (starts_with_it(0) && encoding.special[0] == 1) drop_first();
      return;
  }
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const std::string& tokenizer_json, const std::string& tokenizer_config) {
  const std::string json = read_text_file(tokenizer_json, "TK02", kMaxFileBytes);
  tok::TokenizerConfig config;
  if (!tokenizer_config.empty()) {
    config = tok::parse_tokenizer_config(
        read_text_file(tokenizer_config, "TK14", kMaxCompanionBytes), tokenizer_config);
  }
  const std::filesystem::path chat =
      std::filesystem::path(tokenizer_json).parent_path() / "chat_template.jinja";
  if (std::filesystem::exists(chat)) {
    config.chat_template = read_text_file(chat.string(), "TK14", kMaxCompanionBytes);
  }
  return Tokenizer(std::make_unique<const Parts>(tok::parse_tokenizer_file(json, tokenizer_json),
                                                 std::move(config)));
}

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, std::string_view tokenizer_config,
                           const std::string& where) {
  return Tokenizer(
      std::make_unique<const Parts>(tok::parse_tokenizer_file(tokenizer_json, where),
                                    tok::parse_tokenizer_config(tokenizer_config, where)));
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::string storage;
  std::vector<Encoding> parts;
  parts.push_back(parts_->encode_text(checked_text(text, options.invalid_utf8, storage), 0));
  return parts_->finish(std::move(parts), options);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                const EncodeOptions& options) const {
  std::string storage;
  std::vector<Encoding> parts;
  parts.push_back(parts_->encode_text(checked_text(first, options.invalid_utf8, storage), 0));
  parts.push_back(parts_->encode_text(checked_text(second, options.invalid_utf8, storage), 1));
  return parts_->finish(std::move(parts), options);
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids, SpecialTokens specials) const {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const std::int64_t id : ids) {
    if (specials == SpecialTokens::skip && is_special(id)) continue;
    if (const auto piece = parts_->piece(id)) pieces.emplace_back(*piece);
  }
  std::string text;
  if (parts_->decoder) {
    parts_->decoder->apply(pieces);
    for (const std::string& piece : pieces) text += piece;
  } else {
    for (std::size_t i = 0; i < pieces.size(); ++i) text += (i > 0 ? " " : "") + pieces[i];
  }
  return parts_->config.clean_up_spaces ? tok::clean_up_spaces(std::move(text)) : text;
}

TokenizerKind Tokenizer::kind() const {
  return parts_->model->kind();
}

std::size_t Tokenizer::vocab_size() const {
  return parts_->vocab_size;
}

std::int64_t Tokenizer::id_limit() const {
  return parts_->id_limit;
}

std::optional<std::string> Tokenizer::piece(std::int64_t id) const {
  const auto piece = parts_->piece(id);
  return piece ? std::optional<std::string>(*piece) : std::nullopt;
}

std::optional<std::int64_t> Tokenizer::id(std::string_view piece) const {
  if (const tok::AddedToken* token = parts_->added->find(piece)) return token->id;
  return parts_->model->vocabulary().id(piece);
}

bool Tokenizer::is_special(std::int64_t id) const {
  const tok::AddedToken* token = parts_->added->find(id);
  return token != nullptr && token->special;
}

const SpecialIds& Tokenizer::special_ids() const {
  return parts_->ids;
}

bool Tokenizer::adds_bos() const {
  return parts_->adds_bos;
}

const std::string& Tokenizer::chat_template() const {
  return parts_->config.chat_template;
}

}  // namespace attnscope
