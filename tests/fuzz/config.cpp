// config.json of a folder, or the FILE.json of a custom model, as far as it goes without weights.
#include <nlohmann/json.hpp>

#include "attnscope/checkpoint/describe.h"
#include "attnscope/checkpoint/site_inventory.h"
#include "attnscope/support/json.h"
#include "choose_family.h"
#include "match_tensors.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

// Every tensor that a map wants, without bytes.
class ShapesOnly final : public TensorSource {
 public:
  explicit ShapesOnly(const TensorMap& map) {
    for (const TensorBinding& binding : map.bindings) {
      if (find(binding.name) != nullptr) continue;
      tensors_.push_back({.name = binding.name, .dtype = DType::f32, .shape = binding.shape});
    }
  }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const TensorInfo* find(const std::string& name) const override {
    for (const TensorInfo& tensor : tensors_) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
  void read_part(const TensorInfo&, std::uint64_t, void*, std::uint64_t) const override {
    check(false, "a tensor was read");
  }

 private:
  std::vector<TensorInfo> tensors_;
};

void check_config(const ModelConfig& config) {
  check(config.n_layers > 0 && config.layers.size() == static_cast<std::size_t>(config.n_layers),
        "as many layer configurations as layers");
  check(config.n_distinct_layers > 0 && config.n_distinct_layers <= config.n_layers,
        "distinct layers within the layers");
  check(config.d_model > 0 && config.d_vocab > 0 && config.d_embed > 0, "sizes above zero");
  for (const LayerConfig& layer : config.layers) {
    const AttentionSpec& a = layer.attention;
    check(a.n_heads > 0 && a.n_kv_heads > 0 && a.d_head > 0, "heads above zero");
    check(a.n_heads % a.n_kv_heads == 0, "whole groups of query heads");
  }
}

void read_model(const JsonObject& json) {
  Warnings warnings;
  const bool own_file = json.has("family");
  const FamilyChoice choice =
      own_file ? FamilyChoice{.family = &family_of_file(json)} : choose_family(json);
  const ShapesOnly nothing({});
  const Head head = own_file ? Head{} : choose_head(choice, nothing, "file", warnings);
  const FamilyInput input{json, head, warnings};
  Checkpoint checkpoint;
  checkpoint.config = choice.family->configure(input);
  check_config(checkpoint.config);
  const TensorMap wanted = choice.family->map(checkpoint.config, input);
  site_inventory(checkpoint.config);
  estimate_memory(checkpoint.config, 128);
  parameter_count(wanted);
  // Looking names up here takes quadratic time.
  if (wanted.bindings.size() > 300) return;
  checkpoint.tensors = std::make_shared<ShapesOnly>(wanted);
  checkpoint.map = match_tensors({.wanted = wanted,
                                  .base_prefix = choice.family->base_prefix,
                                  .source = *checkpoint.tensors,
                                  .where = "folder"},
                                 warnings);
  describe_architecture(checkpoint);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  accepts([&] {
    const nlohmann::json parsed = parse_json(as_text(data, size), "file", "CF06");
    read_model(JsonObject(parsed, "file", "CF07"));
  });
  return 0;
}
