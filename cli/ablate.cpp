// attnscope ablate: options → AblateSpec → attnscope-run.
#include "experiment_options.h"
#include "spec_verb.h"

namespace attnscope::cli {
namespace {

void add_what_options(Verb& verb, AblateSpec& spec) {
  Options& options = verb.options();
  options.group("What to switch off");
  options.choice({"--unit", "", "what is switched off as one"}, spec.unit);
  options.text({"--method", "LIST", "what its output becomes, see below"}, spec.methods);
  options.text({"--layers", "LIST", "layers, as in 0-3,7 (default: all)"}, spec.layers);
  options.text({"--heads", "LIST", "units by name, and sets of them, see below (default: all)"},
               spec.heads);
  options.text(
      {"--neurons", "LIST", "neurons for --unit neuron, as in 5.0-99,6.17 (default: none)"},
      spec.neurons);
  options.text({"--positions", "LIST",
                "positions for --unit head-pos, see below (default: all; a prompt that is too "
                "short has no such cell)"},
               spec.positions);
  options.text({"--effect", "LIST",
                "total: all that follows is computed anew; direct: layers that follow and the "
                "final norm keep their values"},
               spec.effects);
  options.text({"--reference", "FILE",
                "prompts whose means are used (default: the corrupt prompts, else the clean ones)"},
               spec.reference);
  options.text({"--vector", "FILE", "the vector of --method vector, .npy or .json (default: none)"},
               spec.vector_file);
  options.integer({"--interactions", "K",
                   "also switch off each two of the K units with the largest effects (default: "
                   "none)"},
                  {2, 10'000}, spec.interactions);
  options.flag({"--leave-one-in", "", "also switch off all units but one"}, spec.leave_one_in);
  options.integer({"--rerun-f32", "K",
                   "also run the K largest cells in float32, to see what another --dtype costs "
                   "(default: none)"},
                  {1, 1 << 30}, spec.float32_rerun);
  verb.note("Methods",
            "zero         nothing at all\n"
            "mean         the unit's mean over all tokens of the reference prompts\n"
            "mean-pos     its mean at the same position; prompts of equal length only\n"
            "resample     its value in the corrupt prompt, else in a prompt of another group\n"
            "vector       the vector of --vector\n"
            "optimal      the constant that costs least on these prompts");
}

}  // namespace

int run_ablate(const Command& command, const CommandLine& line) {
  return run_spec_verb<AblateSpec>(command, line, [](Verb& verb, AblateSpec& spec) {
    add_sweep_verb_options(verb, spec, add_what_options);
  });
}

}  // namespace attnscope::cli
