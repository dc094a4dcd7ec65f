// File: options.h
// Options of a verb on top of CLI11, with the rules of this command line: an option is given at
// most once, numbers are strict and know no locale, every error names the option and what it takes.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/spec/choices.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attnscope::cli {

// Whether an option may be given an empty text. It is refused almost everywhere: an empty variable
// of a script must not mean the default.
enum class EmptyValue { refused, allowed };

// How an option is written and described.
struct Name {
  std::string flags;  // "-m,--model"; for an argument without a flag its name alone, "FILE"
  std::string value;  // what the help calls the value, "DIR"; empty for an argument
  std::string help;
  EmptyValue empty = EmptyValue::refused;
};

struct Bounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct NumberBounds {
  double low = 0;
  double high = 0;
};

// A bad command line: exit 2. `where` is the option as the user writes it.
[[noreturn]] void fail_argument(const std::string& code, ErrorDetail detail);

class Options {
 public:
  // Takes an option's only value; `option` is its long name, for messages.
  using Take = std::function<void(const std::string& text, const std::string& option)>;

  explicit Options(CLI::App& app) : app_(app) {}

  // Heading for the options that follow.
  void group(std::string name) { group_ = std::move(name); }

  // Options take effect in the order in which they are registered, not in which they are written.
  // The help of an option ends with its default, the value that `out` has now, unless the help says
  // so itself or the value is an empty text.
  void value(const Name& name, Take take);
  void text(const Name& name, std::string& out);
  void text(const Name& name, std::optional<std::string>& out);
  template <std::integral T>
  void integer(const Name& name, Bounds bounds, T& out) {
    value(with_default(name, std::to_string(out)),
          [bounds, &out](const std::string& text, const std::string& option) {
            out = static_cast<T>(parse_bounded(text, bounds, option));
          });
  }
  // A finite number within the bounds.
  void number(const Name& name, NumberBounds bounds, double& out);
  void number(const Name& name, NumberBounds bounds, std::optional<double>& out);
  void flag(const Name& name, bool& out);
  // A flag that switches something off: "--no-attribution".
  void off_flag(const Name& name, bool& out);
  template <typename Choice>
  void choice(Name name, Choice& out) {
    if (name.value.empty()) name.value = join(choice_names<Choice>(), "|");
    name = with_default(name, choice_name(out));
    value(name, [&out](const std::string& text, const std::string& option) {
      out = parse_choice<Choice>(text, option);
    });
  }
  // Arguments without a flag, all required, in the order of the calls.
  void argument(const Name& name, std::string& out);
  void arguments(const Name& name, std::vector<std::string>& out);

  // A whole number within the bounds, for options that take theirs by value(). Throws CL07.
  static std::int64_t parse_bounded(const std::string& text, Bounds bounds,
                                    const std::string& option);

  // Whether the option was given.
  bool given(const std::string& flag) const;
  // Refuses to have both options on one command line.
  void exclusive(const std::string& flag_a, const std::string& flag_b) const;

 private:
  static Name with_default(Name name, const std::string& value);
  static double parse_bounded(const std::string& text, NumberBounds bounds,
                              const std::string& option);
  void add_flag(const Name& name, std::function<void()> take);
  using TakeAll = std::function<void(const std::vector<std::string>& values)>;
  CLI::Option* add(const Name& name, TakeAll take);

  CLI::App& app_;
  std::string group_ = "Options";
};

// Reads `arguments` with the options registered in `app`; errors are Error CLnn (exit 2) with the
// nearest known option. False when --help was asked for and printed.
bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace attnscope::cli
