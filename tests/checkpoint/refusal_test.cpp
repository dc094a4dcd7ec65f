// Formats that are not read, and the commands that convert them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "attnscope/checkpoint/safetensors.h"
#include "checkpoint_files.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

namespace fs = std::filesystem;

// A folder with the llama fixture's configuration and the given empty files.
std::string folder_with(const TempFolder& folder, const std::vector<std::string>& files) {
  const std::string model = folder.file("model");
  fs::create_directories(model);
  write_bytes(model + "/config.json", config_of(fixture("families/llama")).dump());
  for (const std::string& file : files) write_bytes(model + "/" + file, "x");
  return model;
}

// The Python program of a message: what stands between python3 -c " and the last quote.
std::string snippet_of(const Error& error) {
  const std::string text = error.detail().next;
  const std::string start = "python3 -c \"";
  const std::size_t begin = text.find(start);
  if (begin == std::string::npos) return "";
  return text.substr(begin + start.size(), text.rfind('"') - begin - start.size());
}

constexpr int kNoProgram = 127;  // the shell's

// Exit status of a Python program run in `folder`.
int run_python(const std::string& interpreter, const std::string& folder,
               const std::string& program) {
  write_bytes(folder + "/program.py", program);
  const std::string command =
      "cd '" + folder + "' && " + interpreter + " program.py > python.log 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The interpreter that the environment names, else the one that came with LibTorch.
std::string python() {
  const char* named = std::getenv("ATTNSCOPE_PYTHON");
  return named == nullptr || *named == '\0' ? ATTNSCOPE_TEST_PYTHON : named;
}

struct Refusal {
  const char* name;
  Error error;
  const char* code;
  const char* says;
};

std::vector<Refusal> refusals() {
  std::vector<Refusal> out;
  const auto add = [&](const char* name, const std::vector<std::string>& files, const char* code,
                       const char* says) {
    const TempFolder folder;
    out.push_back({name, open_error(folder_with(folder, files)), code, says});
  };
  add("bin", {"pytorch_model.bin", "training_args.bin"}, "CK10", "pytorch_model.bin");
  add("sharded bin", {"pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json"}, "CK10",
      "pytorch_model-00001-of-00002.bin");
  add("pt", {"weights.pt"}, "CK10", "weights.pt");
  add("pth", {"consolidated.00.pth"}, "CK10", "consolidated.00.pth");
  add("ckpt", {"last.ckpt"}, "CK10", "last.ckpt");
  add("gguf", {"model-Q4_K_M.gguf"}, "CK11", "GGUF");
  add("adapter", {"adapter_config.json", "adapter_model.safetensors"}, "CK12", "LoRA");

  const TempFolder folder;
  const std::string model = folder_with(folder, {});
  nlohmann::json config = config_of(model);
  config["quantization_config"] = {{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}};
  write_model(model, config, tensors_of(fixture("families/llama")));
  out.push_back({"quantised", open_error(model), "CK13", "bitsandbytes"});
  return out;
}

TEST(Refusals, NameTheFormatAndGiveAPythonCommand) {
  for (const Refusal& refusal : refusals()) {
    EXPECT_EQ(refusal.error.code(), refusal.code) << refusal.name;
    EXPECT_EQ(refusal.error.exit_code(), 2) << refusal.name;
    const std::string text = refusal.error.what();
    EXPECT_NE(text.find(refusal.says), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_FALSE(snippet_of(refusal.error).empty()) << text;
  }
}

TEST(Refusals, OfSingleFilesNameTheFormatToo) {
  const TempFolder folder;
  for (const auto& [name, code] :
       std::vector<std::pair<std::string, std::string>>{{"model.bin", "CK10"},
                                                        {"m.pt", "CK10"},
                                                        {"m.pth", "CK10"},
                                                        {"m.ckpt", "CK10"},
                                                        {"m.gguf", "CK11"},
                                                        {"model.safetensors", "CK02"}}) {
    write_bytes(folder.file(name), "x");
    EXPECT_EQ(open_error(folder.file(name)).code(), code) << name;
  }
}

TEST(Refusals, OfTheResearchModelsOriginals) {
  for (const char* path :
       {"models/induction/induction_head_infinite.pth",
        "models/brackets/brackets_model_state_dict.pt", "models/stories260k/stories260K.bin"}) {
    const auto original = material(path);
    if (!original) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
    EXPECT_EQ(open_error(*original).code(), "CK10") << path;
  }
}

TEST(Refusals, OfFoldersWithoutWeightsListWhatIsThere) {
  const TempFolder folder;
  const Error error = open_error(folder_with(folder, {"tf_model.h5", "flax_model.msgpack"}));
  EXPECT_EQ(error.code(), "CK14");
  EXPECT_NE(std::string(error.what()).find("tf_model.h5"), std::string::npos);
}

TEST(Refusals, SayWhatPickleFoldersWithoutAConfigurationAre) {
  const TempFolder folder;
  fs::create_directories(folder.file("m"));
  write_bytes(folder.file("m/model.pth"), "x");
  EXPECT_EQ(open_error(folder.file("m")).code(), "CK10");
}

TEST(Refusals, EscapeHostileFileNames) {
  const TempFolder folder;
  const std::string name = "a\n\x1b[31m\"; rm -rf .bin";
  const std::string model = folder_with(folder, {name});
  const Error error = open_error(model);
  const std::string text = error.what();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  // No name from the folder may reach the command.
  EXPECT_EQ(error.detail().next.find("rm -rf"), std::string::npos);
}

TEST(ConversionCommands, AreValidPython) {
  const TempFolder folder;
  if (run_python(python(), folder.path(), "pass") != 0) GTEST_SKIP() << "no Python interpreter";
  for (const Refusal& refusal : refusals()) {
    const std::string program = "compile('''" + snippet_of(refusal.error) + "''', 'x', 'exec')";
    EXPECT_EQ(run_python(python(), folder.path(), program), 0)
        << refusal.name << ": " << read_bytes(folder.file("python.log"));
  }
}

TEST(ConversionCommands, TurnAPickleFolderIntoOneThatOpens) {
  const TempFolder folder;
  const std::string model = folder.file("model");
  fs::copy(fixture("families/llama"), model);
  constexpr int kNoModule = 77;
  const std::string split =
      "import sys\n"
      "try:\n"
      "  import torch\n"
      "  from safetensors.torch import load_file\n"
      "except ImportError:\n"
      "  sys.exit(77)\n"
      "t = list(load_file('model.safetensors').items())\n"
      "torch.save(dict(t[:5]), 'pytorch_model-00001-of-00002.bin')\n"
      "torch.save(dict(t[5:]), 'pytorch_model-00002-of-00002.bin')\n"
      "torch.save({'lr': 1}, 'training_args.bin')\n";
  const int status = run_python(python(), model, split);
  if (status == kNoModule || status == kNoProgram) {
    GTEST_SKIP() << python() << " has no torch and safetensors (ATTNSCOPE_PYTHON names another)";
  }
  ASSERT_EQ(status, 0) << read_bytes(model + "/python.log");
  // One tensor's bytes, before and after.
  const auto norm = [&] {
    const SafetensorsSource source({model + "/model.safetensors"});
    std::vector<char> bytes(source.find("model.norm.weight")->bytes);
    source.read(*source.find("model.norm.weight"), bytes.data(), bytes.size());
    return bytes;
  };
  const std::vector<char> before = norm();
  fs::remove(model + "/model.safetensors");

  const Error error = open_error(model);
  ASSERT_EQ(error.code(), "CK10");
  ASSERT_EQ(run_python(python(), model, snippet_of(error)), 0) << read_bytes(model + "/python.log");
  Warnings warnings;
  const Checkpoint checkpoint =
      open_checkpoint(model, {.strictness = Strictness::strict}, warnings);
  EXPECT_EQ(checkpoint.config.family, "llama");
  EXPECT_TRUE(warnings.lines().empty());
  EXPECT_EQ(norm(), before);
}

}  // namespace
}  // namespace attnscope::testing
