#include "unsupported_formats.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "model_folder.h"

namespace attnscope {
namespace {

// Pickle files run code when they are read, so they are never opened here.
constexpr std::array<std::string_view, 4> kPickleEndings = {".bin", ".pt", ".pth", ".ckpt"};

// Runs in the model folder. `pattern` is a glob of this file, never a name from the folder.
std::string pickle_snippet(const std::string& pattern) {
  return "convert it: cd into the folder and run python3 -c \"import glob, torch; from "
         "safetensors.torch import save_file; load = lambda f: torch.load(f, map_location='cpu', "
         "weights_only=True); parts = [load(f) for f in sorted(glob.glob('" +
         pattern +
         "'))]; parts = [p.get('state_dict', p) for p in parts]; save_file({k: "
         "v.clone().contiguous() for p in parts for k, v in p.items() if torch.is_tensor(v)}, "
         "'model.safetensors', metadata={'format': 'pt'})\"";
}

std::string gguf_snippet() {
  return "convert it: cd into the folder and run python3 -c \"import glob; from transformers "
         "import AutoModelForCausalLM as M, AutoTokenizer as T; f = glob.glob('*.gguf')[0]; "
         "M.from_pretrained('.', gguf_file=f).save_pretrained('converted'); "
         "T.from_pretrained('.', gguf_file=f).save_pretrained('converted')\"";
}

std::string adapter_snippet() {
  return "merge it into its base model: cd into the folder and run python3 -c \"from peft import "
         "AutoPeftModelForCausalLM as M; from transformers import AutoTokenizer as T; m = "
         "M.from_pretrained('.'); base = m.peft_config['default'].base_model_name_or_path; "
         "m.merge_and_unload().save_pretrained('merged'); "
         "T.from_pretrained(base).save_pretrained('merged')\"";
}

std::string quantised_snippet() {
  return "dequantise it: cd into the folder and run python3 -c \"from transformers import "
         "AutoModelForCausalLM as M, AutoTokenizer as T; "
         "M.from_pretrained('.').dequantize().save_pretrained('dequantised'); "
         "T.from_pretrained('.').save_pretrained('dequantised')\"";
}

bool has_ending(std::string_view name, std::string_view ending) {
  return name.size() > ending.size() && name.ends_with(ending);
}

[[noreturn]] void refuse_pickle(const std::string& where, const std::string& name,
                                const std::string& pattern) {
  throw Error(ErrorKind::input, "CK10",
              {.where = where,
               .what = "weights in pickle format are not read: " + quote(name),
               .expected = "model.safetensors",
               .next = pickle_snippet(pattern)});
}

[[noreturn]] void refuse_gguf(const std::string& where, const std::string& name) {
  throw Error(ErrorKind::input, "CK11",
              {.where = where,
               .what = "weights in GGUF format are not read: " + quote(name),
               .expected = "model.safetensors",
               .next = gguf_snippet()});
}

std::optional<std::string_view> pickle_ending(std::string_view name) {
  for (const std::string_view ending : kPickleEndings) {
    if (has_ending(name, ending)) return ending;
  }
  return std::nullopt;
}

}  // namespace

void refuse_weight_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string where = escape_untrusted(path, 4096);
  if (const auto ending = pickle_ending(name)) {
    refuse_pickle(where, name, "*" + std::string(*ending));
  }
  if (has_ending(name, ".gguf")) refuse_gguf(where, name);
  if (has_ending(name, ".safetensors")) {
    throw Error(ErrorKind::input, "CK02",
                {.where = where,
                 .what = "is a file of weights without its configuration",
                 .expected = "the folder that holds it and config.json, or a custom model's "
                             "FILE.json that names it"});
  }
}

void refuse_adapter(const std::string& folder) {
  if (!std::filesystem::exists(folder + "/adapter_config.json")) return;
  throw Error(ErrorKind::input, "CK12",
              {.where = escape_untrusted(folder, 4096),
               .what = "is a LoRA adapter (adapter_config.json), not a whole model",
               .next = adapter_snippet()});
}

void refuse_quantised(const JsonObject& config, const std::string& folder) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (!config.has(key)) continue;
    const nlohmann::json& value = *config.find(key);
    std::string method = "an unnamed method";
    if (value.is_object() && value.contains("quant_method") && value["quant_method"].is_string()) {
      method = quote(value["quant_method"].get<std::string>(), 40);
    }
    throw Error(ErrorKind::input, "CK13",
                {.where = escape_untrusted(folder, 4096),
                 .what = "quantised weights are not read: " + std::string(key) + " names " + method,
                 .expected = "weights in float32, float16 or bfloat16",
                 .next = quantised_snippet()});
  }
}

void refuse_folder_without_safetensors(const std::string& folder) {
  const std::string where = escape_untrusted(folder, 4096);
  const std::vector<std::string> names = entries_of(folder);
  const auto starts = [](const std::string& name) { return name.starts_with("pytorch_model"); };
  const bool usual = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return starts(name) && has_ending(name, ".bin");
  });
  for (const std::string& name : names) {
    const auto ending = pickle_ending(name);
    if (!ending || (usual && !starts(name))) continue;
    refuse_pickle(where, name, (usual ? "pytorch_model*" : "*") + std::string(*ending));
  }
  for (const std::string& name : names) {
    if (has_ending(name, ".gguf")) refuse_gguf(where, name);
  }
  std::vector<std::string> others;
  for (const std::string& name : names) {
    const bool weights = has_ending(name, ".safetensors") || has_ending(name, ".h5") ||
                         has_ending(name, ".msgpack") || has_ending(name, ".onnx");
    if (weights && others.size() < 5) others.push_back(quote(name, 60));
  }
  throw Error(ErrorKind::input, "CK14",
              {.where = where,
               .what = "the folder holds no weights that can be read",
               .expected = "model.safetensors or model.safetensors.index.json",
               .got = others.empty() ? "" : join(others, ", ")});
}

}  // namespace attnscope
