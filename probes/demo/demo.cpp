#include "attnscope/probes/demo.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "attnscope/capture/capture.h"
#include "attnscope/probes/known_answer.h"
#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "attnscope/tokenizer/tokenizer.h"
#include "measure.h"
#include "model_file.h"
#include "pictures.h"
#include "story.h"

namespace attnscope {
namespace {

using namespace demo;

constexpr const char* kList =
    "Words: river Tom lamp blue garden Kate doctor cup river Tom lamp blue garden";
constexpr const char* kListOther = " cup";  // a word of the list that is not the next one
constexpr const char* kSentence = "When Anna and Tom went to the shop, Tom gave the book to";
constexpr const char* kReceiver = " Anna";
constexpr const char* kGiver = " Tom";
constexpr const char* kKnownStem = "known-answer-model";
constexpr const char* kKnownModel = "known-answer-model.json";
constexpr const char* kKnownWeights = "known-answer-model.safetensors";

// Every file the demo writes, so that none is found in the way after half the work.
const std::vector<std::string>& file_names() {
  static const std::vector<std::string> names = {"list.h5",
                                                 "list.json",
                                                 "list-induction-head.png",
                                                 "list-induction-head.svg",
                                                 "list-all-heads.png",
                                                 "list-all-heads.svg",
                                                 "list-induction-scores.png",
                                                 "list-induction-scores.svg",
                                                 "sentence.h5",
                                                 "sentence.json",
                                                 "sentence-name-head.png",
                                                 "sentence-name-head.svg",
                                                 "known-answer-model.safetensors",
                                                 "known-answer-model.json",
                                                 "known-answer.h5",
                                                 "known-answer.json",
                                                 "known-answer-heads.png",
                                                 "known-answer-heads.svg"};
  return names;
}

void prepare_folder(const std::string& folder, WriteMode mode) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw Error(ErrorKind::output, "DM04",
                {.where = escape_untrusted(folder, 4096),
                 .what = "the folder cannot be made",
                 .expected = "",
                 .got = failed.message(),
                 .next = "give another one with -o"});
  }
  if (mode == WriteMode::replace) return;
  for (const std::string& name : file_names()) {
    if (!std::filesystem::exists(std::filesystem::path(folder) / name, failed)) continue;
    throw Error(ErrorKind::output, "DM01",
                {.where = escape_untrusted(folder + "/" + name, 4096),
                 .what = "is already there",
                 .expected = "",
                 .got = "",
                 .next = "give another folder with -o, or --force to replace the demo's files"});
  }
}

// One run of the demo and what it has to hand.
class Tour {
 public:
  Tour(const DemoSpec& spec, const DemoContext& context)
      : spec_(spec),
        context_(context),
        mode_(spec.force ? WriteMode::replace : WriteMode::create),
        model_folder_(demo_data_folder() + "/tiny-english") {
    result_.folder = spec.out.empty() ? "attnscope-demo" : spec.out;
  }

  DemoResult run() {
    prepare_folder(result_.folder, mode_);
    Warnings warnings;
    const Model trained = Model::load(open_checkpoint(model_folder_, {}, warnings), {}, warnings);
    const Tokenizer tokenizer = Tokenizer::load(model_folder_ + "/tokenizer.json",
                                                model_folder_ + "/tokenizer_config.json");
    const HeadId head = read_list(trained, tokenizer);
    read_sentence(trained, tokenizer);
    read_known_answer();
    test_trained(trained, tokenizer);
    say(tell_end(result_, model_folder_, head));
    return std::move(result_);
  }

 private:
  void say(const std::string& part) {
    result_.story += part;
    if (context_.say) context_.say(part);
  }

  std::string in_folder(const std::string& name) const { return result_.folder + "/" + name; }

  void wrote(const std::vector<std::string>& names) {
    result_.files.insert(result_.files.end(), names.begin(), names.end());
  }

  // Captures every pattern, z and residual of one prompt into `stem`.h5.
  CaptureReader capture(CaptureSpec capture_spec, const std::string& stem) {
    capture_spec.hooks = "pattern,z,resid_post";
    capture_spec.compute.device = "cpu";
    capture_spec.compute.threads = spec_.threads;
    capture_spec.output.out = in_folder(stem + ".h5");
    capture_spec.output.force = spec_.force;
    capture_spec.output.quiet = true;
    run_capture(capture_spec, {.command_line = context_.command_line, .stop = context_.stop});
    wrote({stem + ".h5", stem + ".json"});
    return CaptureReader(in_folder(stem + ".h5"), {.trust = Trust::own});
  }

  HeadId read_list(const Model& model, const Tokenizer& tokenizer) {
    CaptureSpec prompt{.model = model_folder_};
    prompt.prompts.prompt = kList;
    const CaptureReader file = capture(prompt, "list");
    const std::vector<std::int64_t> ids = tokenizer.encode(kList).ids;
    const NextToken next = most_likely(model, ids);
    result_.answer_to_list = text_of(tokenizer, next.id);
    list_metric_ = logit_difference(next.id, id_of(tokenizer, kListOther));
    result_.trained = measure_heads(model, ids, list_metric_);
    const DemoHead& head = best_induction(result_.trained);
    wrote(draw_head(file, head.head, result_.folder, "list-induction-head", mode_));
    wrote(draw_all_heads(file, result_.folder, "list-all-heads", mode_));
    wrote(draw_statistic(file, "induction", result_.folder, "list-induction-scores", mode_));
    say(tell_list({.prompt = kList,
                   .answer = result_.answer_to_list,
                   .followed = text_of(tokenizer, after_first(ids)),
                   .probability = next.probability,
                   .head = head,
                   .others = static_cast<int>(induction_heads(result_.trained).size()) - 1,
                   .file = &file},
                  context_.style));
    return head.head;
  }

  void read_sentence(const Model& model, const Tokenizer& tokenizer) {
    CaptureSpec prompt{.model = model_folder_};
    prompt.prompts.prompt = kSentence;
    const CaptureReader file = capture(prompt, "sentence");
    const std::vector<std::int64_t> ids = tokenizer.encode(kSentence).ids;
    const NextToken next = most_likely(model, ids);
    result_.answer_to_sentence = text_of(tokenizer, next.id);
    const std::int64_t giver = id_of(tokenizer, kGiver), receiver = id_of(tokenizer, kReceiver);
    const auto first = std::find(ids.begin(), ids.end(), receiver) - ids.begin();
    const Look look =
        hardest_look(model, ids, static_cast<int>(ids.size()) - 1, static_cast<int>(first));
    wrote(draw_head(file, look.head, result_.folder, "sentence-name-head", mode_));
    say(tell_sentence({.prompt = kSentence,
                       .answer = result_.answer_to_sentence,
                       .receiver = kReceiver,
                       .giver = kGiver,
                       .probability = next.probability,
                       .giver_probability = probability_of(model, ids, giver),
                       .look = look}));
  }

  void read_known_answer() {
    const Checkpoint built = known_induction_model();
    write_custom_model(built, result_.folder, kKnownStem, mode_);
    wrote({kKnownWeights, kKnownModel});
    CaptureSpec prompt{.model = in_folder(kKnownModel)};
    prompt.prompts.ids = known_induction_prompt();
    const CaptureReader file = capture(prompt, "known-answer");
    wrote(draw_all_heads(file, result_.folder, "known-answer-heads", mode_));

    Warnings warnings;
    const Model model = Model::load(built, {}, warnings);
    const int n_tokens = built.config.d_vocab;
    result_.known_answer =
        measure_heads(model, known_induction_prompt(), [n_tokens](const at::Tensor& logits) {
          const at::Tensor values = logits[0].to(at::kDouble).contiguous();
          return known_induction_metric(
              {values.const_data_ptr<double>(), static_cast<std::size_t>(values.numel())},
              n_tokens);
        });
    std::vector<std::string> truth;
    for (const KnownHead& head : KnownInductionTruth{}.heads) truth.emplace_back(head.what);
    say(tell_known_answer(result_.known_answer, truth));
  }

  void test_trained(const Model& model, const Tokenizer& tokenizer) {
    const std::vector<HeadId> heads = induction_heads(result_.trained);
    const std::vector<std::int64_t> ids = tokenizer.encode(kList).ids;
    say(tell_trained_test({.heads = result_.trained,
                           .answer = result_.answer_to_list,
                           .other = kListOther,
                           .induction_heads = static_cast<int>(heads.size()),
                           .all_silenced = silence_together(model, ids, heads, list_metric_)}));
  }

  // What followed the last token where it stood first.
  static std::int64_t after_first(const std::vector<std::int64_t>& ids) {
    return *(std::find(ids.begin(), ids.end() - 1, ids.back()) + 1);
  }

  static std::string text_of(const Tokenizer& tokenizer, std::int64_t id) {
    return tokenizer.decode(std::vector<std::int64_t>{id}, SpecialTokens::add);
  }

  static std::int64_t id_of(const Tokenizer& tokenizer, const std::string& text) {
    return tokenizer.encode(text, {.specials = SpecialTokens::skip}).ids.front();
  }

  const DemoSpec& spec_;
  const DemoContext& context_;
  WriteMode mode_;
  std::string model_folder_;
  Metric list_metric_;
  DemoResult result_;
};

}  // namespace

DemoResult run_demo(const DemoSpec& spec, const DemoContext& context) {
  return Tour(spec, context).run();
}

}  // namespace attnscope
