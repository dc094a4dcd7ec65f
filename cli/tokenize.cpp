// attnscope tokenize: options → TokenizeSpec → one table or one JSON object a prompt.
#include <nlohmann/json.hpp>

#include "attnscope/data/encoded_prompt.h"
#include "attnscope/spec/model_specs.h"
#include "attnscope/spec/prompts.h"
#include "attnscope/support/utf8.h"
#include "command.h"
#include "console/output.h"
#include "console/table.h"
#include "prompt_source.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

template <typename Each>
std::string json_list(std::size_t count, const Each& each) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + each(i);
  return text + "]";
}

// One line of JSON: {"ids": […], "pieces": […], "offsets": [[begin, end], …]}. Written directly,
// since a document of a long prompt would take a kilobyte a token.
std::string as_json(const EncodedPrompt& prompt) {
  const auto id = [&](std::size_t i) { return std::to_string(prompt.ids[i]); };
  const auto piece = [&](std::size_t i) {
    return nlohmann::json(prompt.pieces[i])
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const auto offsets = [&](std::size_t i) {
    const CharSpan& span = prompt.offsets[i];
    return "[" + std::to_string(span.begin) + "," + std::to_string(span.end) + "]";
  };
  return R"({"ids":)" + json_list(prompt.ids.size(), id) + R"(,"pieces":)" +
         json_list(prompt.pieces.size(), piece) + R"(,"offsets":)" +
         json_list(prompt.offsets.size(), offsets) + "}\n";
}

std::string offset_text(const EncodedPrompt& prompt, std::size_t i) {
  if (prompt.special[i] != 0) return "";
  const CharSpan span = prompt.offsets[i];
  return std::to_string(span.begin) + "-" + std::to_string(span.end) +
         (prompt.in_second[i] != 0 ? " (second text)" : "");
}

std::string as_text(const EncodedPrompt& prompt) {
  const auto row = [&prompt](std::size_t i) {
    return console::Table::Row{std::to_string(i), std::to_string(prompt.ids[i]),
                               escape_untrusted(prompt.pieces[i]), quote(prompt.token_texts[i]),
                               offset_text(prompt, i)};
  };
  return console::Table::text_of(
      {{"position", Align::right}, {"id", Align::right}, {"piece"}, {"text"}, {"characters"}},
      prompt.size(), row);
}

}  // namespace

int run_tokenize(const Command& command, const CommandLine& line) {
  TokenizeSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.group("Model");
  add_model_option(options, "required", spec.model);
  add_prompt_options(verb, spec.prompts);
  add_encoding_options(options, spec.encoding);
  options.flag({"--no-special", "", "without the tokens that the tokenizer's template adds"},
               spec.no_special);
  options.group("Output");
  options.flag({"--json", "",
                "JSON Lines: one object a prompt with its ids, pieces and offsets ([begin, end] in "
                "characters)"},
               spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);

  const Tokenizer tokenizer = load_tokenizer(spec.model);
  const SpecialTokens specials = spec.no_special ? SpecialTokens::skip : SpecialTokens::add;
  EncodePromptOptions encode = encode_options(spec.encoding, &tokenizer);
  encode.encode.specials = specials;
  bool first = true;
  for_each_prompt(spec.prompts, spec.encoding, [&](const Prompt& prompt) {
    const EncodedPrompt encoded = encode_prompt(prompt, &tokenizer, encode);
    if (!spec.json && !first) console::print("\n");
    console::print(spec.json ? as_json(encoded) : as_text(encoded));
    first = false;
  });
  return 0;
}

}  // namespace attnscope::cli
