#include "published.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "family_comparison.h"
#include "testing/fixtures.h"

namespace attnscope::testing {

nlohmann::json read_reference(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

at::Tensor to_tensor(const nlohmann::json& numbers) {
  if (!numbers.is_array()) return at::scalar_tensor(numbers.get<double>(), at::kDouble);
  std::vector<at::Tensor> parts;
  for (const nlohmann::json& part : numbers) parts.push_back(to_tensor(part));
  return at::stack(parts);
}

Intervention replace_z(int layer, int head, const at::Tensor& value, std::vector<int> rows) {
  return {.hook = {Site::z, layer},
          .operation = Operation::set,
          .rows = std::move(rows),
          .heads = {head},
          .value = value};
}

Model load_with_weights(const TempFolder& folder, const std::string& name,
                        const std::string& weights) {
  std::filesystem::copy_file(fixture("custom/" + name + ".json"), folder.file(name + ".json"));
  std::filesystem::create_symlink(weights, folder.file(std::filesystem::path(weights).filename()));
  return load_model(folder.file(name + ".json"), DType::f32).model;
}

LayerHead layer_and_head(const std::string& name) {
  const auto dot = name.find('.');
  return {std::stoi(name.substr(0, dot)), std::stoi(name.substr(dot + 1))};
}

}  // namespace attnscope::testing
