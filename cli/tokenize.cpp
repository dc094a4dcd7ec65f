// attnscope tokenize: options → TokenizeSpec → one table or one JSON object a prompt.
#include <nlohmann/json.hpp>

#include "attnscope/data/encoded_prompt.h"
#include "attnscope/spec/model_specs.h"
#include "attnscope/support/utf8.h"
#include "command.h"
#include "console/output.h"
#include "console/table.h"
#include "prompt_source.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

// One line of JSON: {"ids": […], "pieces": […], "offsets": [[begin, end], …]}.
std::string as_json(const EncodedPrompt& prompt) {
  nlohmann::ordered_json offsets = nlohmann::ordered_json::array();
  for (const CharSpan& span : prompt.offsets) offsets.push_back({span.begin, span.end});
  const nlohmann::ordered_json json = {
      {"ids", prompt.ids}, {"pieces", prompt.pieces}, {"offsets", offsets}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string offset_text(const EncodedPrompt& prompt, std::size_t i) {
  if (prompt.special[i] != 0) return "";
  const CharSpan span = prompt.offsets[i];
  return std::to_string(span.begin) + "-" + std::to_string(span.end) +
         (prompt.in_second[i] != 0 ? " (second text)" : "");
}

std::string as_text(const EncodedPrompt& prompt) {
  console::Table table(
      {{"position", Align::right}, {"id", Align::right}, {"piece"}, {"text"}, {"characters"}});
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    table.add({std::to_string(i), std::to_string(prompt.ids[i]), escape_untrusted(prompt.pieces[i]),
               quote(prompt.token_texts[i]), offset_text(prompt, i)});
  }
  return table.text();
}

}  // namespace

int run_tokenize(const Command& command, const CommandLine& line) {
  TokenizeSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.group("Model");
  add_model_option(options, spec.model);
  add_prompt_options(options, spec.prompts);
  add_encoding_options(options, spec.encoding);
  options.flag({"--no-special", "", "without the tokens that the tokenizer's template adds"},
               spec.no_special);
  options.group("Output");
  add_json_option(options, spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);

  const Tokenizer tokenizer = load_tokenizer(spec.model);
  const SpecialTokens specials = spec.no_special ? SpecialTokens::skip : SpecialTokens::add;
  bool first = true;
  for_each_prompt(spec.prompts, spec.encoding.invalid_utf8, [&](const Prompt& prompt) {
    const EncodedPrompt encoded =
        encode_prompt(prompt, &tokenizer, encode_options(spec.encoding, specials));
    if (!spec.json && !first) console::print("\n");
    console::print(spec.json ? as_json(encoded) : as_text(encoded));
    first = false;
  });
  return 0;
}

}  // namespace attnscope::cli
