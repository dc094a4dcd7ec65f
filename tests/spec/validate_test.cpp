#include <gtest/gtest.h>

#include <functional>

#include "attnscope/spec/file_specs.h"
#include "attnscope/spec/model_specs.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

CaptureSpec good() {
  CaptureSpec s;
  s.model = "m";
  s.prompts.prompt = "hello";
  s.output.out = "o.h5";
  return s;
}

struct Case {
  const char* option;  // must be named
  std::function<void(CaptureSpec&)> spoil;
};

TEST(ValidateCapture, AcceptsTheOrdinary) {
  EXPECT_NO_THROW(validate(good()));
  CaptureSpec dry = good();
  dry.output.out.clear();
  dry.output.dry_run = true;
  EXPECT_NO_THROW(validate(dry));
  CaptureSpec ids = good();
  ids.prompts = {.ids = {{1, 2}}, .token_types = {0, 1}};
  EXPECT_NO_THROW(validate(ids));
}

TEST(ValidateCapture, NamesTheOption) {
  const std::vector<Case> cases = {
      {"--model", [](auto& s) { s.model.clear(); }},
      {"--prompt", [](auto& s) { s.prompts.prompt.reset(); }},
      {"--prompt", [](auto& s) { s.prompts.prompts_file = "f.txt"; }},
      {"--prompt", [](auto& s) { s.prompts.ids = {{1}}; }},
      {"--prompt", [](auto& s) { s.prompts.prompt = "a\xFF"; }},
      {"--prompt-pair", [](auto& s) { s.prompts = {.pair = "b", .ids = {{1}}}; }},
      {"--ids", [](auto& s) { s.prompts = {.ids = std::vector<std::int64_t>{}}; }},
      {"--token-types", [](auto& s) { s.prompts.token_types = {1}; }},
      {"--token-types",
       [](auto& s) {
         s.prompts = {.ids = {{1, 2}}, .token_types = {1}};
       }},
      {"--skip-bad", [](auto& s) { s.prompts.skip_bad = true; }},
      {"--chat",
       [](auto& s) {
         s.prompts.pair = "b";
         s.encoding.chat = ChatChoice::gemma;
       }},
      {"--out", [](auto& s) { s.output.out.clear(); }},
      {"--out", [](auto& s) { s.output.out = "run.txt"; }},
      {"--out", [](auto& s) { s.output.out = "run.hdf5"; }},
      {"--out", [](auto& s) { s.output.out = "folder/.h5"; }},
      {"--out", [](auto& s) { s.output.out = "run.h5/"; }},
      {"--stats-only",
       [](auto& s) {
         s.hooks = "z";
         s.stats_only = true;
       }},
      {"--hooks", [](auto& s) { s.hooks = "z,,pattern"; }},
      {"--layers", [](auto& s) { s.layers = "1,"; }},
      {"--topk", [](auto& s) { s.top_k = 0; }},
      {"--device", [](auto& s) { s.compute.device = "gpu"; }},
      {"--device", [](auto& s) { s.compute.device = "cuda:"; }},
      {"--device", [](auto& s) { s.compute.device = "cuda:-1"; }},
      {"--threads", [](auto& s) { s.compute.threads = 10000; }},
      {"--shard",
       [](auto& s) {
         s.shard = {3, 2};
       }},
      {"--resume",
       [](auto& s) {
         s.output.force = true;
         s.output.resume = true;
       }},
  };
  for (const Case& c : cases) {
    CaptureSpec spec = good();
    c.spoil(spec);
    try {
      validate(spec);
      FAIL() << c.option;
    } catch (const Error& e) {
      EXPECT_EQ(e.exit_code(), 2);
      EXPECT_EQ(e.detail().where, c.option) << e.what();
    }
  }
}

TEST(ValidateOthers, NameWhatIsMissing) {
  EXPECT_THROW(validate(InspectSpec{}), Error);
  EXPECT_THROW(validate(TokenizeSpec{}), Error);
  EXPECT_THROW(validate(StatsSpec{}), Error);
  EXPECT_THROW(validate(ShowSpec{.file = "f"}), Error);
  EXPECT_THROW(validate(ExportSpec{.file = "f", .out = "o"}), Error);
  EXPECT_THROW(validate(ExportSpec{.file = "f", .out = "o", .head = "1.2", .heads = "1.*"}), Error);
  EXPECT_THROW(validate(MergeSpec{.files = {"a"}, .out = "o"}), Error);
  EXPECT_THROW(validate(DiffSpec{.left = "a"}), Error);
  EXPECT_NO_THROW(validate(DemoSpec{}));
  EXPECT_NO_THROW(validate(DoctorSpec{}));
  EXPECT_NO_THROW(validate(ExportSpec{.file = "f", .out = "o", .head = "1.2"}));
  const ExportSpec figure{.file = "f", .out = "o", .figure = FigureChoice::grid};
  EXPECT_NO_THROW(validate(figure));
  const auto refused = [](ExportSpec spec, const auto& change) {
    change(spec);
    EXPECT_THROW(validate(spec), Error);
  };
  refused(figure, [](ExportSpec& s) { s.head = "1.2"; });
  refused(figure, [](ExportSpec& s) { s.measure = "mass"; });
  refused(figure, [](ExportSpec& s) {
    s.figure = FigureChoice::scatter;
    s.format = ExportFormat::npy;
  });
  refused(figure, [](ExportSpec& s) {
    s.figure = FigureChoice::none;
    s.head = "1.2";
    s.method = "zero";
  });
}

}  // namespace
}  // namespace attnscope
