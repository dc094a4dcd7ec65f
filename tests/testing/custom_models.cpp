#include "testing/custom_models.h"

#include <filesystem>
#include <map>

#include "testing/fixtures.h"

namespace attnscope::testing {

std::optional<std::string> custom_model(const std::string& name, const TempFolder& folder) {
  static const std::map<std::string, std::string> kOutsideWeights = {
      {"induction", "models/induction/induction_2l_attn_only.safetensors"},
      {"brackets", "models/brackets/model.safetensors"}};
  const std::string json = fixture("custom/" + name + ".json");
  const auto outside = kOutsideWeights.find(name);
  if (outside == kOutsideWeights.end()) return json;
  const std::optional<std::string> weights = material(outside->second);
  if (!weights) return std::nullopt;
  namespace fs = std::filesystem;
  const fs::path target = folder.path();
  for (const fs::path& source : {fs::path(json), fs::path(*weights)}) {
    fs::copy_file(source, target / source.filename(), fs::copy_options::overwrite_existing);
  }
  return (target / (name + ".json")).string();
}

}  // namespace attnscope::testing
