// attnscope inspect: options → InspectSpec → the architecture as a person would draw it.
#include <nlohmann/json.hpp>

#include "architecture_drawing.h"
#include "attnscope/spec/model_specs.h"
#include "attnscope/tokenizer/tokenizer.h"
#include "command.h"
#include "console/output.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

constexpr std::int64_t kMaxTokens = 1 << 24;

// Layer by layer, also where neighbours are alike.
nlohmann::ordered_json layers_json(const Checkpoint& checkpoint,
                                   const ArchitectureDescription& about) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LayerGroup& group : about.layers) {
    for (int layer = group.first; layer <= group.last; ++layer) {
      const AttentionSpec& spec =
          checkpoint.config.layers[static_cast<std::size_t>(layer)].attention;
      list.push_back({{"layer", layer},
                      {"n_heads", group.n_heads},
                      {"n_kv_heads", group.n_kv_heads},
                      {"d_head", group.d_head},
                      {"d_mlp", group.d_mlp},
                      {"mask", group.mask},
                      {"window", spec.window},
                      {"rotary", group.rotary},
                      {"details", group.details}});
    }
  }
  return list;
}

std::string as_json(const Checkpoint& checkpoint, const ArchitectureDescription& about,
                    const MemoryFigures& memory, const std::string& chat_template) {
  const nlohmann::ordered_json json = {{"name", about.name},
                                       {"family", about.family},
                                       {"architecture", about.architecture},
                                       {"kind", about.kind},
                                       {"norm", about.norm},
                                       {"positions", about.positions},
                                       {"mlp", about.mlp},
                                       {"block", about.block},
                                       {"head", about.head},
                                       {"n_layers", about.n_layers},
                                       {"n_distinct_layers", about.n_distinct_layers},
                                       {"d_model", about.d_model},
                                       {"d_embed", about.d_embed},
                                       {"d_vocab", about.d_vocab},
                                       {"n_context", about.n_context},
                                       {"layers", layers_json(checkpoint, about)},
                                       {"labels", about.labels},
                                       {"parameters", about.parameters},
                                       {"stored_bytes", about.stored_bytes},
                                       {"stored_types", about.stored_types},
                                       {"weight_bytes_in_memory", about.memory_bytes},
                                       {"memory",
                                        {{"tokens", memory.tokens},
                                         {"activations", memory.activations},
                                         {"maps_of_one_layer", memory.layer_maps},
                                         {"maps_of_all_layers", memory.all_maps}}},
                                       {"unused_tensors", about.unused},
                                       {"chat_template", chat_template}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int run_inspect(const Command& command, const CommandLine& line) {
  InspectSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.argument(
      {"MODEL", "", "model folder, custom model's .json, or org/name in the Hugging Face cache"},
      spec.model);
  options.group("What to show");
  options.integer({"--tokens", "N", "memory for this many tokens (default: the context)"},
                  {1, kMaxTokens}, spec.tokens);
  options.flag({"--strict", "", "warnings about the model are errors"}, spec.strict);
  options.group("Output");
  add_json_option(options, spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);

  Warnings warnings;
  const Checkpoint checkpoint = open_checkpoint(
      spec.model, {spec.strict ? Strictness::strict : Strictness::lenient}, warnings);
  console::print_warnings(warnings.lines());
  const ArchitectureDescription about = describe_architecture(checkpoint);
  const MemoryFigures memory =
      estimate_memory(checkpoint.config, spec.tokens > 0 ? spec.tokens : about.n_context);
  const std::string chat_template =
      checkpoint.tokenizer_json.empty()
          ? ""
          : Tokenizer::load(checkpoint.tokenizer_json, checkpoint.tokenizer_config).chat_template();
  console::print(spec.json ? as_json(checkpoint, about, memory, chat_template)
                           : draw_architecture(checkpoint.config, about) +
                                 describe_sizes(about, memory) + show_template(chat_template));
  return 0;
}

}  // namespace attnscope::cli
