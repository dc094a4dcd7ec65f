// A pairs file: a byte that chooses its kind and the options, then its content.
#include <algorithm>
#include <array>

#include "attnscope/data/pairs.h"
#include "attnscope/support/utf8.h"
#include "scratch.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

constexpr std::array<const char*, 4> kNames{"p.jsonl", "p.csv", "p.tsv", "p.json"};

const Tokenizer& tokenizer() {
  static const Tokenizer loaded =
      Tokenizer::load(ATTNSCOPE_SOURCE_DIR "/probes/demo/tiny-english/tokenizer.json", "");
  return loaded;
}

void check_pair(const EncodedPair& pair, int n_clusters) {
  const auto count = static_cast<int>(pair.clean.size());
  check(count > 0, "a prompt without tokens");
  check(!pair.corrupt || pair.corrupt->size() == pair.clean.size(), "a pair that does not align");
  check(pair.cluster >= 0 && pair.cluster < n_clusters, "a cluster that does not exist");
  for (const std::int64_t id : pair.answers) {
    check(std::find(pair.wrongs.begin(), pair.wrongs.end(), id) == pair.wrongs.end(),
          "an answer that is wrong as well");
    check(id >= 0 && id < tokenizer().id_limit(), "an answer beyond the vocabulary");
  }
  for (const auto& [name, positions] : pair.spans) {
    check(!first_invalid_utf8(name), "a name that is not UTF-8");
    check(!positions.empty() && positions.front() >= 0 && positions.back() < count,
          "a span beyond the prompt");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const Scratch scratch;
  const std::uint8_t bits = data[0];
  PairOptions options{.answers = static_cast<AnswerUse>((bits >> 4) % 5),
                      .misaligned = (bits & 4) != 0 ? Misaligned::skip : Misaligned::stop,
                      .foreign_ids = (bits & 8) != 0,
                      .skip_bad = (bits & 8) != 0};
  const std::string path = scratch.write(kNames[bits % 4], as_text(data + 1, size - 1));
  accepts([&] {
    Warnings warnings;
    const PairSet set = read_pairs(path, &tokenizer(), options, warnings);
    check(!set.pairs.empty(), "a set without pairs");
    for (const EncodedPair& pair : set.pairs) check_pair(pair, set.n_clusters);
  });
  return 0;
}
