#include "command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <memory>

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "attnscope/version.h"
#include "console/output.h"
#include "console/table.h"

namespace attnscope::cli {
namespace {

constexpr std::array kCommands = {
    Command{"demo", "Capture two small models that come with attnscope and say what they show.",
            "attnscope demo -o demo-out", run_demo},
    Command{"doctor", "Check this installation, and with -m the arithmetic of a model.",
            "attnscope doctor\nattnscope doctor -m my-model", run_doctor},
    Command{"inspect", "Show the architecture of a model folder without running it.",
            "attnscope inspect my-model", run_inspect},
    Command{"tokenize", "Show how a model's tokenizer cuts a text into tokens.",
            "attnscope tokenize -m my-model --prompt \"Once upon a time\"\n"
            "attnscope tokenize -m my-model --prompts prompts.txt --json",
            run_tokenize},
    Command{"capture", "Run a model on prompts and record attention and activations in one file.",
            "attnscope capture -m my-model --prompt \"Once upon a time\" -o run.h5\n"
            "attnscope capture -m my-model --prompts prompts.txt --hooks pattern,z,resid_post "
            "-o all.h5\n"
            "attnscope capture -m my-model --prompts pairs.csv --positions subject,last -o at.h5",
            run_capture},
    Command{"ablate", "Switch parts of a model off, one by one, and measure what the answer loses.",
            "attnscope ablate -m my-model --pairs pairs.jsonl --method zero,mean,resample -o "
            "ablate.h5\n"
            "attnscope ablate -m my-model --pairs pairs.jsonl --heads '0.1+1.*,mlp:0'\n"
            "attnscope ablate -m my-model --prompt \"The cat sat on the\" --answer \" a\" "
            "--metric log-prob",
            run_ablate},
    Command{"patch", "Put values of one run into another, and measure what that brings back.",
            "attnscope patch -m my-model --pairs pairs.jsonl --site resid_pre,attn_out,mlp_out "
            "-o patch.h5\n"
            "attnscope patch -m my-model --pairs pairs.jsonl --site z --by layer,head\n"
            "attnscope patch -m my-model --pairs pairs.jsonl --senders '0.*' --receivers "
            "1.0.q,1.1.k\n"
            "attnscope patch -m my-model --pairs pairs.jsonl --edge knockout --queries last "
            "--keys 0",
            run_patch},
    Command{"verdict", "Say for every head whether it matters, and whether attention shows it.",
            "attnscope verdict -m my-model --pairs pairs.jsonl -o verdict.h5", run_verdict},
    Command{"lens", "Show what each layer would answer, and what each head adds to the answer.",
            "attnscope lens -m my-model --prompt \"Once upon a time\" -o lens.h5\n"
            "attnscope lens -m my-model --pairs pairs.jsonl --limit 3 --json",
            run_lens},
    Command{
        "stats", "Show a statistic of every head of a capture, or the results of an experiment.",
        "attnscope stats run.h5 --sort induction\nattnscope stats ablate.h5 --top 5", run_stats},
    Command{"view", "Show captures and results in the browser, every head of them.",
            "attnscope view run.h5\nattnscope view run.h5 --html page.html", run_view},
    Command{"show", "Draw the attention map of one head in the terminal.",
            "attnscope show run.h5 --head 1.0", run_show},
    Command{"export",
            "Write attention maps, or a figure of an experiment, as a picture or a table.",
            "attnscope export run.h5 --head 1.0 --format png -o head.png\n"
            "attnscope export run.h5 --heads '0.*,1.3' -o grid.svg\n"
            "attnscope export run.h5 --heads '*.*' --format npy -o maps.npy\n"
            "attnscope export ablate.h5 --figure grid -o effects.svg",
            run_export},
    Command{"verify", "Check a result file: its layout, its checksums and what must hold in it.",
            "attnscope verify run.h5", run_verify},
    Command{"merge", "Join captures of the same model into one file.",
            "attnscope merge a.h5 b.h5 -o merged.h5", run_merge},
    Command{"diff", "Compare two captures of the same tokens, site by site and head by head.",
            "attnscope diff a.h5 b.h5\nattnscope diff a.h5 b.h5 -o diff.h5", run_diff},
};

constexpr std::size_t kHelpColumn = 34;
constexpr std::size_t kHelpWidth = 100;

// `text` with line breaks for spaces, so that no line is longer than `width`.
std::string wrap(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t line = 0;
  for (const std::string& word : split(text, ' ')) {
    const bool first = out.empty();
    if (!first && line + 1 + word.size() > width) {
      out += "\n";
      line = 0;
    } else if (!first) {
      out += " ";
      ++line;
    }
    out += word;
    line += word.size();
  }
  return out;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kHelpColumn); }
  std::string make_description(const CLI::App* app) const override {
    return app->get_description() + "\n";
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = Formatter::make_option_name(option, is_positional);
    return is_positional && option->get_expected_max() > 1 ? name + "..." : name;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    return make_option_name(option, true);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrap(option->get_description(), kHelpWidth - kHelpColumn);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() ? "" : " " + option->get_type_name();
  }
  // One blank line between groups.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) {
      text.erase(at, 1);
    }
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
  }
  std::string make_positionals(const CLI::App* app) const override {
    std::string text = Formatter::make_positionals(app);
    const std::string title = "\nPositionals:";
    if (text.starts_with(title)) text.replace(0, title.size(), "\nArguments:");
    return text;
  }
};

std::string indent_lines(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += "  " + line + "\n";
  return out;
}

std::string overview() {
  std::string text =
      "attnscope records what every attention head of a model does.\n\n"
      "Usage: attnscope VERB [OPTIONS]\n\nVerbs:\n";
  for (const Command& command : commands()) {
    std::string name = command.name;
    name.resize(10, ' ');
    text += "  " + name + command.summary + "\n";
  }
  text +=
      "\n`attnscope VERB --help` lists a verb's options.\n\n"
      "Example:\n  attnscope demo\n";
  return text;
}

[[noreturn]] void fail_verb(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  const std::vector<std::string> near = nearest(name, names);
  fail_argument("CL10", {.where = "attnscope",
                         .what = "unknown verb " + quote(name),
                         .next = near.empty() ? "see `attnscope --help`"
                                              : "did you mean " + join(near, " or ") + "?"});
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

Verb::Verb(const Command& command)
    : app_(std::make_unique<CLI::App>(command.summary, std::string("attnscope ") + command.name)),
      options_(*app_),
      examples_(command.examples) {
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->set_help_flag();
}

Verb::~Verb() = default;

void Verb::note(const std::string& heading, const std::string& text) {
  notes_ += "\n" + heading + ":\n" + indent_lines(text);
}

bool Verb::parse(const CommandLine& line) {
  const bool several = examples_.find('\n') != std::string::npos;
  app_->footer(notes_ + (several ? "\nExamples:\n" : "\nExample:\n") + indent_lines(examples_));
  // Registered last, so that it stands at the end of the help.
  app_->set_help_flag("-h,--help", "show this text");
  app_->get_help_ptr()->group("Help");
  return parse_arguments(*app_, line.arguments);
}

int run_command_line(const std::vector<std::string>& arguments) {
  const std::string verb = arguments.size() > 1 ? arguments[1] : "--help";
  if (verb == "--help" || verb == "-h" || verb == "help") {
    if (verb == "help" && arguments.size() > 2) {
      return run_command_line({arguments[0], arguments[2], "--help"});
    }
    console::print(overview());
    return 0;
  }
  if (verb == "--version" || verb == "-V") {
    console::print("attnscope " ATTNSCOPE_VERSION "\n");
    return 0;
  }
  for (const Command& command : commands()) {
    if (verb != command.name) continue;
    CommandLine line{.arguments = {arguments.begin() + 2, arguments.end()}, .all = arguments};
    return command.run(command, line);
  }
  fail_verb(verb);
}

}  // namespace attnscope::cli
