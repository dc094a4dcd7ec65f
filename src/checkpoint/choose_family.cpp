#include "choose_family.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "match_tensors.h"

namespace attnscope {
namespace {

const Family* family_by_type(std::string_view model_type) {
  for (const Family& family : all_families()) {
    for (const std::string& type : family.model_types) {
      if (type == model_type) return &family;
    }
  }
  return nullptr;
}

const Architecture* find_architecture(const Family& family, std::string_view name) {
  for (const Architecture& architecture : family.architectures) {
    if (name == architecture.name) return &architecture;
  }
  return nullptr;
}

const Family* family_by_architecture(std::string_view name) {
  for (const Family& family : all_families()) {
    if (find_architecture(family, name) != nullptr) return &family;
  }
  return nullptr;
}

[[noreturn]] void refuse(const JsonObject& json, const char* code, const std::string& what,
                         const std::vector<std::string>& supported) {
  throw Error(ErrorKind::input, code,
              {.where = json.where(),
               .what = "not supported: " + what,
               .next = "supported: " + join(supported, ", ")});
}

std::vector<std::string> model_types() {
  std::vector<std::string> types;
  for (const Family& family : all_families()) {
    types.insert(types.end(), family.model_types.begin(), family.model_types.end());
  }
  return types;
}

std::vector<std::string> architectures_of(const Family& family) {
  std::vector<std::string> names;
  for (const Architecture& architecture : family.architectures) {
    names.emplace_back(architecture.name);
  }
  return names;
}

}  // namespace

FamilyChoice choose_family(const JsonObject& json) {
  FamilyChoice choice;
  const std::vector<std::string> named = json.strings_or_empty("architectures");
  if (!named.empty()) choice.architecture_name = named.front();
  const std::string type = json.string_or("model_type", "");
  if (!type.empty()) {
    choice.family = family_by_type(type);
    if (choice.family == nullptr)
      refuse(json, "CF02", "model_type " + quote(type, 60), model_types());
  } else if (!named.empty()) {
    choice.family = family_by_architecture(named.front());
    if (choice.family == nullptr) {
      refuse(json, "CF02", "the architecture " + quote(named.front(), 60), model_types());
    }
  } else {
    throw Error(ErrorKind::input, "CF01",
                {.where = json.where(),
                 .what = "names neither model_type nor architectures",
                 .expected = "model_type, one of " + join(model_types(), ", ")});
  }
  if (named.empty()) return choice;
  choice.architecture = find_architecture(*choice.family, named.front());
  if (choice.architecture == nullptr) {
    refuse(json, "CF03", "the architecture " + quote(named.front(), 60),
           architectures_of(*choice.family));
  }
  return choice;
}

const Family& family_of_file(const JsonObject& json) {
  const std::string name = json.string_or("family", "");
  std::vector<std::string> known;
  for (const Family& family : all_families()) {
    if (family.form != FamilyForm::single_file) continue;
    if (family.name == name) return family;
    known.push_back(quote(family.name));
  }
  throw Error(
      ErrorKind::input, "CF04",
      {.where = json.where(),
       .what = name.empty() ? "names no \"family\"" : "not supported: family " + quote(name, 60),
       .expected = join(known, " or "),
       .next = json.has("model_type") ? "give the folder, not its config.json" : ""});
}

Head choose_head(const FamilyChoice& choice, const TensorSource& source, const std::string& where,
                 Warnings& warnings) {
  const Family& family = *choice.family;
  const auto present = [&](const Architecture& a) {
    return *a.marker == '\0' || holds_tensor(source, family.base_prefix, a.marker);
  };
  if (choice.architecture == nullptr) {
    const auto found =
        std::find_if(family.architectures.begin(), family.architectures.end(), present);
    return found == family.architectures.end() ? Head{} : found->head;
  }
  const Architecture& named = *choice.architecture;
  if (named.head.kind == HeadKind::masked_lm && !present(named)) {
    warnings.add(where + ": " + named.name +
                 " is named but its head is not in the files: hidden states only");
    return {};
  }
  return named.head;
}

}  // namespace attnscope
