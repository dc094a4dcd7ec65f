// File: registry.h
// The list of families. To add one: write its file, declare it here and name it in registry.cpp.
#pragma once

#include "family.h"

namespace attnscope {

Family gpt2_family();
Family gpt_neox_family();
Family llama_family();
Family mistral_family();
Family qwen2_family();
Family qwen3_family();
Family gemma2_family();
Family bert_family();
Family roberta_family();
Family distilbert_family();
Family albert_family();
Family custom_family();

}  // namespace attnscope
