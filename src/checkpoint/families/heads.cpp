#include "heads.h"

#include "config_keys.h"

namespace attnscope {

void apply_head(ModelConfig& config, const FamilyInput& input) {
  config.head = input.head.kind;
  config.classifier = input.head.classifier;
  switch (config.head) {
    case HeadKind::none:
      config.d_vocab_out = 0;
      break;
    case HeadKind::language_model:
    case HeadKind::masked_lm:
      config.d_vocab_out = config.d_vocab;
      break;
    case HeadKind::classifier:
      config.labels = read_labels(input.json);
      config.d_vocab_out = static_cast<int>(config.labels.size());
      break;
  }
}

}  // namespace attnscope
