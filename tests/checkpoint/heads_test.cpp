// Which head a checkpoint gets: by its architecture and by what its files hold.
#include <gtest/gtest.h>

#include "checkpoint_files.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;

struct HeadCase {
  const char* family;
  const char* architecture;
  std::vector<FileTensor> head;
  HeadKind kind;
  ClassifierKind classifier;
  std::size_t bindings;  // of the head
};

// Tensors of the base model only.
std::vector<FileTensor> base_tensors(const std::string& family) {
  const std::string prefix = family == "gpt2"    ? "transformer."
                             : family == "llama" ? "model."
                                                 : family + ".";
  std::vector<FileTensor> out;
  for (const FileTensor& t : tensors_of(fixture("families/" + family))) {
    if (t.name.starts_with(prefix)) out.push_back(t);
  }
  return out;
}

bool is_head_role(Role role) {
  return role == Role::head_dense_weight || role == Role::head_dense_bias ||
         role == Role::head_norm_weight || role == Role::head_norm_bias ||
         role == Role::head_weight || role == Role::head_bias;
}

std::vector<HeadCase> head_cases() {
  const auto pair = [](const std::string& stem, std::int64_t out, std::int64_t in) {
    return std::vector<FileTensor>{{stem + ".weight", {out, in}}, {stem + ".bias", {out}}};
  };
  const auto both = [](std::vector<FileTensor> a, const std::vector<FileTensor>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  constexpr auto kClassifier = HeadKind::classifier;
  return {
      {"bert", "BertForSequenceClassification",
       both(pair("bert.pooler.dense", 42, 42), pair("classifier", 3, 42)), kClassifier,
       ClassifierKind::pooled_tanh, 4},
      {"bert", "BertForTokenClassification", pair("classifier", 3, 42), kClassifier,
       ClassifierKind::every_token, 2},
      {"roberta", "RobertaForSequenceClassification",
       both(pair("classifier.dense", 42, 42), pair("classifier.out_proj", 3, 42)), kClassifier,
       ClassifierKind::pooled_tanh, 4},
      {"roberta", "RobertaForTokenClassification", pair("classifier", 3, 42), kClassifier,
       ClassifierKind::every_token, 2},
      {"distilbert", "DistilBertForSequenceClassification",
       both(pair("pre_classifier", 42, 42), pair("classifier", 3, 42)), kClassifier,
       ClassifierKind::pooled_relu, 4},
      {"albert", "AlbertForSequenceClassification",
       both(pair("albert.pooler", 42, 42), pair("classifier", 3, 42)), kClassifier,
       ClassifierKind::pooled_tanh, 4},
      {"gpt2",
       "GPT2ForSequenceClassification",
       {{"score.weight", {3, 42}}},
       kClassifier,
       ClassifierKind::last_token,
       1},
      {"gpt2", "GPT2ForTokenClassification", pair("classifier", 3, 42), kClassifier,
       ClassifierKind::every_token, 2},
      {"llama",
       "LlamaForSequenceClassification",
       {{"score.weight", {3, 48}}},
       kClassifier,
       ClassifierKind::last_token,
       1},
      {"llama", "LlamaForTokenClassification", pair("score", 3, 48), kClassifier,
       ClassifierKind::every_token, 2},
      {"gpt_neox",
       "GPTNeoXForSequenceClassification",
       {{"score.weight", {3, 48}}},
       kClassifier,
       ClassifierKind::last_token,
       1},
      {"bert", "BertModel", pair("bert.pooler.dense", 42, 42), HeadKind::none,
       ClassifierKind::pooled_tanh, 0},
      {"llama", "LlamaModel", {}, HeadKind::none, ClassifierKind::pooled_tanh, 0},
      {"bert", "BertForQuestionAnswering", pair("qa_outputs", 2, 42), HeadKind::none,
       ClassifierKind::pooled_tanh, 0},
  };
}

TEST(Heads, FollowTheArchitectureAndTheFiles) {
  for (const HeadCase& test : head_cases()) {
    const TempFolder folder;
    json config = config_of(fixture("families/" + std::string(test.family)));
    config["architectures"] = {test.architecture};
    config["id2label"] = {{"0", "no"}, {"1", "maybe"}, {"2", "yes"}};
    std::vector<FileTensor> tensors = base_tensors(test.family);
    tensors.insert(tensors.end(), test.head.begin(), test.head.end());
    write_model(folder.file("m"), config, tensors);
    Warnings warnings;
    const Checkpoint checkpoint = open_checkpoint(folder.file("m"), {}, warnings);
    EXPECT_EQ(checkpoint.config.head, test.kind) << test.architecture;
    std::size_t bindings = 0;
    for (const TensorBinding& b : checkpoint.map.bindings) bindings += is_head_role(b.role);
    EXPECT_EQ(bindings, test.bindings) << test.architecture;
    EXPECT_TRUE(warnings.lines().empty()) << test.architecture << warnings.lines().front();
    if (test.kind == HeadKind::classifier) {
      EXPECT_EQ(checkpoint.config.classifier, test.classifier) << test.architecture;
      EXPECT_EQ(checkpoint.config.labels, (std::vector<std::string>{"no", "maybe", "yes"}));
      EXPECT_EQ(checkpoint.config.d_vocab_out, 3);
    } else {
      EXPECT_EQ(checkpoint.config.d_vocab_out, 0);
    }
  }
}

TEST(Heads, OfMaskedLanguageModelsMayBeAbsent) {
  const TempFolder folder;
  write_model(folder.file("m"), config_of(fixture("families/bert")), base_tensors("bert"));
  Warnings warnings;
  EXPECT_EQ(open_checkpoint(folder.file("m"), {}, warnings).config.head, HeadKind::none);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("hidden states only"), std::string::npos);
}

TEST(Heads, OfClassifiersMayNotBeAbsent) {
  const TempFolder folder;
  json config = config_of(fixture("families/bert"));
  config["architectures"] = {"BertForSequenceClassification"};
  write_model(folder.file("m"), config, base_tensors("bert"));
  EXPECT_EQ(open_error(folder.file("m")).code(), "TM01");
}

TEST(Heads, AreFoundInTheFilesWhereNoArchitectureIsNamed) {
  const TempFolder folder;
  json config = config_of(fixture("families/bert"));
  config.erase("architectures");
  write_model(folder.file("m"), config, tensors_of(fixture("families/bert")));
  Warnings warnings;
  EXPECT_EQ(open_checkpoint(folder.file("m"), {}, warnings).config.head, HeadKind::masked_lm);
  write_model(folder.file("m"), config, base_tensors("bert"));
  EXPECT_EQ(open_checkpoint(folder.file("m"), {}, warnings).config.head, HeadKind::none);
}

TEST(Labels, OfABadListAreRefused) {
  const TempFolder folder;
  json config = config_of(fixture("families/gpt2"));
  config["architectures"] = {"GPT2ForSequenceClassification"};
  std::vector<FileTensor> tensors = base_tensors("gpt2");
  tensors.push_back({"score.weight", {2, 42}});
  for (const json& labels :
       {json{{"0", "a"}, {"2", "b"}}, json{{"0", "a"}, {"x", "b"}}, json{{"0", "a"}, {"1", 7}},
        json::object(), json{{"0", "a"}, {"00", "b"}}}) {
    config["id2label"] = labels;
    write_model(folder.file("m"), config, tensors);
    EXPECT_EQ(open_error(folder.file("m")).code(), "CF07") << labels;
  }
  config.erase("id2label");
  write_model(folder.file("m"), config, tensors);
  Warnings warnings;
  EXPECT_EQ(open_checkpoint(folder.file("m"), {}, warnings).config.labels,
            (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
}

}  // namespace
}  // namespace attnscope::testing
