#include "registry.h"

#include <array>

#include "family.h"

namespace attnscope {

std::span<const Family> all_families() {
  static const std::array families = {
      gpt2_family(),    gpt_neox_family(),   llama_family(),  mistral_family(),
      qwen2_family(),   qwen3_family(),      gemma2_family(), bert_family(),
      roberta_family(), distilbert_family(), albert_family(), custom_family(),
  };
  return families;
}

}  // namespace attnscope
