#include "pair_columns.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "line_checks.h"

namespace attnscope {
namespace {

using nlohmann::json;

enum class Role {
  clean,
  clean_ids,
  corrupt,
  corrupt_ids,
  answer,
  answer_ids,
  wrong,
  wrong_ids,
  foreign_answer,  // ids of the tokenizer that the file was made with
  foreign_wrong,
  label,
  group,
};

struct Alias {
  const char* name;
  Role role;
};

// The names that published sets of pairs use, in lower case.
constexpr std::array kAliases = {
    Alias{"clean", Role::clean},
    Alias{"prompt", Role::clean},
    Alias{"text", Role::clean},
    Alias{"clean_prompt", Role::clean},
    Alias{"clean_text", Role::clean},
    Alias{"clean_ids", Role::clean_ids},
    Alias{"ids", Role::clean_ids},
    Alias{"corrupt", Role::corrupt},
    Alias{"corrupted", Role::corrupt},
    Alias{"counterfactual", Role::corrupt},
    Alias{"corrupt_prompt", Role::corrupt},
    Alias{"corrupted_prompt", Role::corrupt},
    Alias{"counterfactual_prompt", Role::corrupt},
    Alias{"corrupt_text", Role::corrupt},
    Alias{"corrupt_ids", Role::corrupt_ids},
    Alias{"corrupted_ids", Role::corrupt_ids},
    Alias{"answer", Role::answer},
    Alias{"answers", Role::answer},
    Alias{"correct", Role::answer},
    Alias{"correct_answer", Role::answer},
    Alias{"clean_answer", Role::answer},
    Alias{"target", Role::answer},
    Alias{"io", Role::answer},
    Alias{"answer_id", Role::answer_ids},
    Alias{"answer_ids", Role::answer_ids},
    Alias{"wrong", Role::wrong},
    Alias{"wrong_answer", Role::wrong},
    Alias{"wrong_answers", Role::wrong},
    Alias{"incorrect", Role::wrong},
    Alias{"incorrect_answer", Role::wrong},
    Alias{"corrupt_answer", Role::wrong},
    Alias{"distractor", Role::wrong},
    Alias{"wrong_id", Role::wrong_ids},
    Alias{"wrong_ids", Role::wrong_ids},
    Alias{"correct_idx", Role::foreign_answer},
    Alias{"incorrect_idx", Role::foreign_wrong},
    Alias{"label", Role::label},
    Alias{"group", Role::group},
    Alias{"cluster", Role::group},
    Alias{"template", Role::group},
};

std::optional<Role> role_of(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const Alias& alias : kAliases) {
    if (lower == alias.name) return alias.role;
  }
  return std::nullopt;
}

using Roles = std::map<Role, std::string>;  // role → the column's name as written

Roles roles_of(const std::vector<std::string>& names) {
  Roles roles;
  for (const std::string& name : names) {
    const auto role = role_of(name);
    if (!role) continue;
    const auto [first, added] = roles.emplace(*role, name);
    if (!added) {
      throw BadLine{"columns " + quote(first->second) + " and " + quote(name) + " mean the same"};
    }
  }
  return roles;
}

std::string list_of(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(quote(name));
  return quoted.empty() ? "none" : escape_untrusted(join(quoted, ", "), 400);
}

[[noreturn]] void fail_foreign_ids(const Roles& roles) {
  std::vector<std::string> names;
  for (const Role role : {Role::foreign_answer, Role::foreign_wrong}) {
    if (const auto it = roles.find(role); it != roles.end()) names.push_back(quote(it->second));
  }
  throw Error(ErrorKind::input, "PA07",
              {.what = "the answers are ids of the tokenizer that the file was made with, in " +
                       join(names, " and "),
               .expected = "columns answer and wrong with text",
               .next = "--answer-ids says that they are ids of this model"});
}

// Refuses what misses a column that `options` needs. A lenient run takes answers where they are.
// `empty` are columns that are there without a value.
void check_roles(const Roles& roles, const std::vector<std::string>& names,
                 const std::vector<std::string>& empty, const PairOptions& options) {
  const auto has = [&](Role role) { return roles.contains(role); };
  const auto missing = [&](std::initializer_list<Role> wanted, const char* what,
                           const std::string& aliases) {
    for (const std::string& name : empty) {
      const auto role = role_of(name);
      if (!role || std::find(wanted.begin(), wanted.end(), *role) == wanted.end()) continue;
      throw BadLine{std::string("has no ") + what + ": column " + quote(name) + " is empty"};
    }
    throw BadLine{std::string("has no ") + what + "; expected a column " + aliases + "; got " +
                  list_of(names)};
  };
  if (!has(Role::clean) && !has(Role::clean_ids)) {
    missing({Role::clean, Role::clean_ids}, "clean prompt", "clean or clean_ids");
  }
  if (options.corrupt == CorruptUse::required && !has(Role::corrupt) && !has(Role::corrupt_ids)) {
    missing({Role::corrupt, Role::corrupt_ids}, "corrupt prompt, which this experiment needs",
            "corrupt or corrupt_ids");
  }
  if (options.answers == AnswerUse::label && !has(Role::label)) {
    missing({Role::label}, "label, which this metric needs", "label with class numbers from 0");
  }
  const bool wrong_too = options.answers == AnswerUse::answer_and_wrong;
  if (options.answers != AnswerUse::answer && !wrong_too) return;
  const bool own = has(Role::answer) || has(Role::answer_ids);
  if (options.foreign_ids) {
    if (!has(Role::foreign_answer)) {
      missing({Role::foreign_answer}, "ids, which --answer-ids asks for", "correct_idx");
    }
    if (own) throw BadLine{"has another answer beside the ids that --answer-ids asks for"};
  }
  if (!own && has(Role::foreign_answer)) {
    if (!options.foreign_ids) fail_foreign_ids(roles);
  } else if (!own) {
    missing({Role::answer, Role::answer_ids, Role::foreign_answer},
            "answer, which this metric needs", "answer or answer_id");
  }
  if (!wrong_too || has(Role::wrong) || has(Role::wrong_ids)) return;
  if (!own && has(Role::foreign_wrong)) return;
  missing({Role::wrong, Role::wrong_ids, Role::foreign_wrong},
          "wrong answer, which this metric needs", "wrong or wrong_id");
}

std::string text_of(const std::string& name, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  throw BadLine{"column " + quote(name) + ": expected a text, got " + json_type_name(value)};
}

std::int64_t id_of(const std::string& name, const json& value) {
  // A number above 2^63 would wrap.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= std::uint64_t{0x7FFFFFFFFFFFFFFF});
  if (fits && value.get<std::int64_t>() >= 0) return value.get<std::int64_t>();
  throw BadLine{"column " + quote(name) + ": expected an id from 0, got " +
                escape_untrusted(value.dump(-1, ' ', false, json::error_handler_t::replace), 60)};
}

// One id, a list of ids, or either as text in a table.
std::vector<std::int64_t> ids_of(const std::string& name, const json& value) {
  std::vector<std::int64_t> ids;
  if (value.is_string()) {
    ids = parse_id_field(name, value.get<std::string>());
  } else if (value.is_array()) {
    for (const json& item : value) ids.push_back(id_of(name, item));
  } else {
    ids.push_back(id_of(name, value));
  }
  if (ids.empty()) throw BadLine{"column " + quote(name) + ": the list of ids is empty"};
  return ids;
}

// A prompt is a text, or a list of ids.
void set_prompt(Prompt& prompt, const std::string& name, const json& value) {
  if (value.is_array()) {
    prompt.ids = ids_of(name, value);
  } else {
    prompt.text = text_of(name, value);
  }
}

// A text, a list of texts, or a list of ids where the prompts are ids too.
void set_answers(std::vector<std::string>& texts, std::vector<std::int64_t>& ids,
                 const std::string& name, const json& value) {
  if (!value.is_array()) {
    texts.push_back(text_of(name, value));
    return;
  }
  if (value.empty()) throw BadLine{"column " + quote(name) + ": the list is empty"};
  for (const json& item : value) {
    if (item.is_array()) {
      throw BadLine{"column " + quote(name) +
                    ": a list for each position; expected the answers at the last position alone"};
    }
    if (item.is_string() == value.front().is_string()) {
      if (item.is_string()) {
        texts.push_back(item.get<std::string>());
      } else {
        ids.push_back(id_of(name, item));
      }
      continue;
    }
    throw BadLine{"column " + quote(name) + ": texts and ids in one list"};
  }
}

std::string column_text(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::int64_t label_of(const std::string& name, const json& value) {
  if (!value.is_string()) return id_of(name, value);
  const auto label = parse_integer(trim(value.get<std::string>()));
  if (label && *label >= 0) return *label;
  throw BadLine{"column " + quote(name) + ": expected a class number from 0, got " +
                quote(value.get<std::string>())};
}

// What is not there counts as absent: null, and an empty field of a table.
bool is_absent(const json& value) {
  return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty());
}

class PairBuilder {
 public:
  PairBuilder(const Roles& roles, const PairOptions& options) : roles_(roles), options_(options) {}

  void set(const std::string& name, const json& value) {
    const auto role = role_of(name);
    if (!role || !is_used(*role)) {
      pair_.columns.push_back({name, column_text(value)});
      return;
    }
    set(*role, name, value);
  }

  Pair take() {
    pair_.clean.columns = pair_.columns;
    return std::move(pair_);
  }

 private:
  // Columns of answers that are not looked at are columns like any other, and so are another
  // tokenizer's ids beside answers in text.
  bool is_used(Role role) const {
    const bool answers =
        options_.answers != AnswerUse::unused && options_.answers != AnswerUse::label;
    switch (role) {
      case Role::answer:
      case Role::answer_ids:
        return answers;
      case Role::wrong:
      case Role::wrong_ids:
        return answers && options_.answers != AnswerUse::answer;
      case Role::foreign_answer:
        return answers && options_.foreign_ids && !roles_.contains(Role::answer) &&
               !roles_.contains(Role::answer_ids);
      case Role::foreign_wrong:
        return is_used(Role::foreign_answer) && options_.answers != AnswerUse::answer &&
               !roles_.contains(Role::wrong) && !roles_.contains(Role::wrong_ids);
      case Role::corrupt:
      case Role::corrupt_ids:
        return options_.corrupt != CorruptUse::unused;
      case Role::label:
        return options_.answers == AnswerUse::label;
      default:
        return true;
    }
  }

  Prompt& corrupt() {
    if (!pair_.corrupt) pair_.corrupt.emplace();
    return *pair_.corrupt;
  }

  void set(Role role, const std::string& name, const json& value) {
    switch (role) {
      case Role::clean:
        return set_prompt(pair_.clean, name, value);
      case Role::clean_ids:
        pair_.clean.ids = ids_of(name, value);
        return;
      case Role::corrupt:
        return set_prompt(corrupt(), name, value);
      case Role::corrupt_ids:
        corrupt().ids = ids_of(name, value);
        return;
      case Role::answer:
        return set_answers(pair_.answers, pair_.answer_ids, name, value);
      case Role::wrong:
        return set_answers(pair_.wrongs, pair_.wrong_ids, name, value);
      case Role::answer_ids:
      case Role::foreign_answer:
        pair_.answer_ids = ids_of(name, value);
        return;
      case Role::wrong_ids:
      case Role::foreign_wrong:
        pair_.wrong_ids = ids_of(name, value);
        return;
      case Role::label:
        pair_.label = label_of(name, value);
        return;
      case Role::group:
        pair_.group = column_text(value);
        return;
    }
  }

  const Roles& roles_;
  const PairOptions& options_;
  Pair pair_;
};

void refuse_both(bool text, bool ids, const char* what) {
  if (text && ids) throw BadLine{std::string("has ") + what + " both as text and as ids"};
}

}  // namespace

void check_columns(const std::vector<std::string>& names, const PairOptions& options) {
  check_roles(roles_of(names), names, {}, options);
}

Pair pair_of_record(const json& record, const PairOptions& options) {
  if (!record.is_object()) throw BadLine{"expected an object, got " + json_type_name(record)};
  std::vector<std::string> names;
  std::vector<std::string> empty;
  for (const auto& [name, value] : record.items()) {
    (is_absent(value) ? empty : names).push_back(name);
  }
  const Roles roles = roles_of(names);
  check_roles(roles, names, empty, options);
  PairBuilder builder(roles, options);
  for (const std::string& name : names) builder.set(name, record.at(name));
  Pair pair = builder.take();
  refuse_both(!pair.clean.text.empty(), pair.clean.ids.has_value(), "the clean prompt");
  if (pair.corrupt) {
    refuse_both(!pair.corrupt->text.empty(), pair.corrupt->ids.has_value(), "the corrupt prompt");
  }
  refuse_both(!pair.answers.empty(), !pair.answer_ids.empty(), "the answer");
  refuse_both(!pair.wrongs.empty(), !pair.wrong_ids.empty(), "the wrong answer");
  return pair;
}

}  // namespace attnscope
