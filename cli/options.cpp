#include "options.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "console/output.h"

namespace attnscope::cli {
namespace {

// The longest of an option's names, as the user writes it: "--model".
std::string shown_name(const std::string& flags) {
  const std::vector<std::string> names = split(flags, ',');
  return names.back();
}

void require_once(const std::string& option, std::size_t count) {
  if (count == 1) return;
  fail_argument("CL03", {.where = option,
                         .what = "given " + count_of(count, "time"),
                         .expected = "once",
                         .next = "keep one of them"});
}

void require_text(const Name& name, const std::vector<std::string>& values) {
  const bool blank = std::find(values.begin(), values.end(), "") != values.end();
  if (!blank || name.empty == EmptyValue::allowed) return;
  fail_argument("CL08", {.where = shown_name(name.flags),
                         .what = "the value is empty",
                         .next = name.flags.starts_with('-') ? "give one, or leave the option out"
                                                             : "give a name"});
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

[[noreturn]] void fail_unknown(const CLI::App& app, const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') {
    fail_argument("CL02", {.where = app.get_name(),
                           .what = "does not know what to do with " + quote(argument),
                           .next = "put quotes around a text with spaces, or see `" +
                                   app.get_name() + " --help`"});
  }
  const std::string name = argument.substr(0, argument.find('='));
  const std::vector<std::string> near = nearest(name, option_names(app));
  fail_argument("CL01", {.where = app.get_name(),
                         .what = "unknown option " + quote(name),
                         .next = near.empty() ? "see `" + app.get_name() + " --help`"
                                              : "did you mean " + join(near, " or ") + "?"});
}

// One plain line out of what CLI11 reports.
[[noreturn]] void fail_parse(const CLI::App& app, const CLI::ParseError& error) {
  const std::string help = "see `" + app.get_name() + " --help`";
  if (error.get_name() == "RequiredError") {
    // An option with a typing error is the likelier cause.
    if (const auto rest = app.remaining(); !rest.empty()) fail_unknown(app, rest.front());
    std::string what = escape_untrusted(error.what());
    const std::string tail = " is required";
    if (what.ends_with(tail)) what = what.substr(0, what.size() - tail.size()) + " is missing";
    fail_argument("CL05", {.where = app.get_name(), .what = what, .next = help});
  }
  if (error.get_name() == "ArgumentMismatch") {
    const std::string text = error.what();
    fail_argument("CL04", {.where = escape_untrusted(text.substr(0, text.find(':'))),
                           .what = "needs a value",
                           .next = help});
  }
  fail_argument("CL06",
                {.where = app.get_name(), .what = escape_untrusted(error.what()), .next = help});
}

}  // namespace

void fail_argument(const std::string& code, ErrorDetail detail) {
  throw Error(ErrorKind::input, code, std::move(detail));
}

CLI::Option* Options::add(const Name& name, TakeAll take) {
  const auto callback = [name, take = std::move(take)](const CLI::results_t& values) {
    require_text(name, values);
    take(values);
    return true;
  };
  CLI::Option* option = app_.add_option(name.flags, callback, name.help);
  return option->type_name(name.value)->group(group_)->expected(1);
}

void Options::value(const Name& name, Take take) {
  const std::string option = shown_name(name.flags);
  // All values are taken so that a second one can be refused by name.
  add(name, [option, take = std::move(take)](const std::vector<std::string>& values) {
    require_once(option, values.size());
    take(values.front(), option);
  })->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Name Options::with_default(Name name, const std::string& value) {
  if (!value.empty() && name.help.find("(default") == std::string::npos) {
    name.help += " (default: " + value + ")";
  }
  return name;
}

void Options::text(const Name& name, std::string& out) {
  value(with_default(name, out),
        [&out](const std::string& text, const std::string&) { out = text; });
}

void Options::text(const Name& name, std::optional<std::string>& out) {
  value(name, [&out](const std::string& text, const std::string&) { out = text; });
}

void Options::add_flag(const Name& name, std::function<void()> take) {
  const std::string option = shown_name(name.flags);
  app_.add_flag_function(
          name.flags,
          [option, take = std::move(take)](std::int64_t count) {
            require_once(option, static_cast<std::size_t>(count));
            take();
          },
          name.help)
      ->group(group_);
}

void Options::flag(const Name& name, bool& out) {
  add_flag(name, [&out] { out = true; });
}

void Options::off_flag(const Name& name, bool& out) {
  add_flag(name, [&out] { out = false; });
}

void Options::number(const Name& name, NumberBounds bounds, double& out) {
  value(with_default(name, format_number(out)),
        [bounds, &out](const std::string& text, const std::string& option) {
          out = parse_bounded(text, bounds, option);
        });
}

void Options::number(const Name& name, NumberBounds bounds, std::optional<double>& out) {
  value(name, [bounds, &out](const std::string& text, const std::string& option) {
    out = parse_bounded(text, bounds, option);
  });
}

void Options::argument(const Name& name, std::string& out) {
  add(name, [&out](const std::vector<std::string>& values) { out = values.front(); })->required();
}

void Options::arguments(const Name& name, std::vector<std::string>& out) {
  add(name, [&out](const std::vector<std::string>& values) { out = values; })
      ->required()
      ->expected(1, 1 << 20)
      ->allow_extra_args();
}

std::int64_t Options::parse_bounded(const std::string& text, Bounds bounds,
                                    const std::string& option) {
  const std::optional<std::int64_t> value = parse_integer(text);
  if (value && *value >= bounds.low && *value <= bounds.high) return *value;
  fail_argument("CL07", {.where = option,
                         .what = "not a usable number",
                         .expected = "a whole number from " + std::to_string(bounds.low) + " to " +
                                     std::to_string(bounds.high),
                         .got = quote(text)});
}

double Options::parse_bounded(const std::string& text, NumberBounds bounds,
                              const std::string& option) {
  const std::optional<double> value = parse_number(text);
  // A NaN is within no bounds.
  if (value && *value >= bounds.low && *value <= bounds.high) return *value;
  fail_argument("CL07", {.where = option,
                         .what = "not a usable number",
                         .expected = "a number from " + format_number(bounds.low) + " to " +
                                     format_number(bounds.high) + ", with a decimal point",
                         .got = quote(text)});
}

bool Options::given(const std::string& flag) const {
  return app_.count(flag) > 0;
}

void Options::exclusive(const std::string& flag_a, const std::string& flag_b) const {
  if (given(flag_a) && given(flag_b)) {
    fail_argument("CL09", {.where = flag_a,
                           .what = "cannot be used together with " + flag_b,
                           .next = "keep one of them"});
  }
}

bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments) {
  app.allow_extras();
  // CLI11 takes them last first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    console::print(app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    fail_parse(app, error);
  }
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty()) {
    fail_unknown(app, rest.front());
  }
  return true;
}

}  // namespace attnscope::cli
