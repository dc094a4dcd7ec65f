#include "config.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "attnscope/support/json.h"
#include "attnscope/support/utf8.h"

namespace attnscope::tok {
namespace {

constexpr const char* kCode = "TK14";

// A role's token is written as its text or as an object with the text under "content".
std::string read_role(const JsonObject& config, std::string_view key) {
  const nlohmann::json* value = config.find(key);
  if (value == nullptr) return "";
  if (value->is_object()) return config.object(key).string_or("content", "");
  return config.string(key);
}

// A template is a string, or a list of named ones of which "default" counts.
std::string read_chat_template(const JsonObject& config) {
  const nlohmann::json* value = config.find("chat_template");
  if (value == nullptr) return "";
  if (!value->is_array()) return config.string("chat_template");
  for (std::size_t i = 0; i < value->size(); ++i) {
    const JsonObject entry((*value)[i], config.where(), kCode,
                           "chat_template[" + std::to_string(i) + "]");
    if (entry.string("name") == "default") return entry.string("template");
  }
  return "";
}

}  // namespace

TokenizerConfig parse_tokenizer_config(std::string_view text, const std::string& where) {
  TokenizerConfig out;
  if (text.empty()) return out;
  const nlohmann::json document = parse_json(text, where, kCode);
  const JsonObject config(document, where, kCode);
  out.roles.bos = read_role(config, "bos_token");
  out.roles.eos = read_role(config, "eos_token");
  out.roles.pad = read_role(config, "pad_token");
  out.roles.unk = read_role(config, "unk_token");
  out.roles.cls = read_role(config, "cls_token");
  out.roles.sep = read_role(config, "sep_token");
  out.roles.mask = read_role(config, "mask_token");
  if (config.has("add_bos_token")) out.add_bos_token = config.boolean("add_bos_token");
  out.clean_up_spaces = config.boolean_or("clean_up_tokenization_spaces", false);
  out.chat_template = read_chat_template(config);
  return out;
}

SpecialIds find_special_ids(
    const TokenizerConfig& config,
    const std::function<std::optional<std::int64_t>(std::string_view)>& id,
    const std::function<std::optional<std::int64_t>(std::string_view)>& special_id) {
  const auto role = [&](const std::string& named,
                        std::initializer_list<std::string_view> customary) {
    if (!named.empty()) return id(named);
    for (const std::string_view piece : customary) {
      if (const auto found = special_id(piece)) return found;
    }
    return std::optional<std::int64_t>();
  };
  const auto& roles = config.roles;
  SpecialIds ids;
  ids.bos =
      role(roles.bos, {"<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>"});
  ids.eos = role(roles.eos, {"</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"});
  ids.pad = role(roles.pad, {"<pad>", "[PAD]"});
  ids.unk = role(roles.unk, {"<unk>", "[UNK]"});
  ids.cls = role(roles.cls, {"[CLS]"});
  ids.sep = role(roles.sep, {"[SEP]"});
  ids.mask = role(roles.mask, {"<mask>", "[MASK]"});
  return ids;
}

}  // namespace attnscope::tok
