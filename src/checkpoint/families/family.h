// File: family.h
// What one family of models knows: how its configuration becomes a ModelConfig and what its tensors
// are called. A family is data; it opens no file and reads no tensor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/checkpoint/tensor_map.h"
#include "attnscope/support/json.h"
#include "attnscope/support/warnings.h"

namespace attnscope {

struct Head {
  HeadKind kind = HeadKind::none;
  ClassifierKind classifier = ClassifierKind::pooled_tanh;  // of HeadKind::classifier
};

// One class of the original library.
struct Architecture {
  const char* name;  // as `architectures` writes it
  Head head;
  // A tensor that is in the file if and only if this head is; empty when the head has no tensor of
  // its own (a tied head, or none).
  const char* marker;
};

struct FamilyInput {
  const JsonObject& json;  // config.json; the whole FILE.json of a family with own files
  Head head;
  Warnings& warnings;
};

enum class FamilyForm {
  folder,       // config.json beside the weights
  single_file,  // FILE.json with "family": the family's name
};

struct Family {
  std::string name;
  FamilyForm form = FamilyForm::folder;
  std::vector<std::string> model_types;  // config.json's model_type
  std::vector<Architecture> architectures;
  // Before the names of the base model's tensors; files saved without a head lack it.
  std::string base_prefix;
  ModelConfig (*configure)(const FamilyInput& input);
  TensorMap (*map)(const ModelConfig& config, const FamilyInput& input);
};

// Every family, in the order of messages.
std::span<const Family> all_families();

}  // namespace attnscope
