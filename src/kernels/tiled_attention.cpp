#include "attnscope/kernels/tiled_attention.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/support/error.h"
#include "part_pass.h"

namespace attnscope {
namespace {

// Above this many keys a tile of kTileRows rows of floats would not stay in the second-level cache.
constexpr int kWideTile = 2048;

// A row of scores starts at another cache set than the row before it.
std::int64_t padded_width(int n_columns) {
  constexpr std::int64_t kLine = 16;
  const std::int64_t lines = (n_columns + kLine - 1) / kLine;
  return (lines | 1) * kLine;
}

[[noreturn]] void misuse(std::string what, std::string expected, std::string got) {
  throw Error(ErrorKind::internal, "KE02",
              {.where = "attention in tiles",
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got)});
}

template <typename T>
void check_input(const TiledAttentionInput<T>& input, const TiledAttentionOutput<T>& output) {
  if (input.spec == nullptr) misuse("an AttentionSpec", "one", "none");
  const AttentionSpec& spec = *input.spec;
  if (spec.n_heads < 1 || spec.n_kv_heads < 1 || spec.n_heads % spec.n_kv_heads != 0 ||
      spec.d_head < 1) {
    misuse("heads", "query heads in equal groups for each kv head, of size 1 or more",
           std::to_string(spec.n_heads) + " query and " + std::to_string(spec.n_kv_heads) +
               " kv heads of size " + std::to_string(spec.d_head));
  }
  if (input.n_queries < 1 || input.n_keys < 1 || input.first_query < 0) {
    misuse("queries and keys", "at least one of each",
           std::to_string(input.n_queries) + " queries from position " +
               std::to_string(input.first_query) + ", " + std::to_string(input.n_keys) + " keys");
  }
  if (input.q.data == nullptr || input.k.data == nullptr || input.v.data == nullptr ||
      output.z.data == nullptr || input.product == nullptr) {
    misuse("arrays", "q, k, v, z and a product", "a null one");
  }
  if (spec.softmax_mix != 1) {
    misuse("softmax_mix", "1", std::to_string(spec.softmax_mix));
  }
  if (spec.learned_sink != (input.sink != nullptr) ||
      (spec.alibi && input.distance_bias == nullptr)) {
    misuse("arrays of this AttentionSpec", "sinks and ALiBi's bias where it has them", "others");
  }
  if (input.shaw.clip < 0 || (input.shaw.value != nullptr && input.shaw.key == nullptr)) {
    misuse("relative positions", "a key table that reaches some distance",
           input.shaw.clip < 0 ? "distance " + std::to_string(input.shaw.clip) : "none");
  }
}

void check_index(const char* what, int index, int count) {
  if (index >= 0 && index < count) return;
  misuse(what, "0 to " + std::to_string(count - 1), std::to_string(index));
}

template <typename T>
void check_part(const TiledPart<T>& part, const TiledAttentionInput<T>& input) {
  const bool starts = part.q_begin >= 0 && part.q_begin % kTiledPartQueries == 0;
  const bool ends = part.q_end == input.n_queries ||
                    (part.q_end < input.n_queries && part.q_end % kTiledPartQueries == 0);
  if (starts && ends && part.q_begin < part.q_end &&
      (part.pattern == nullptr || part.pattern_stride >= input.n_keys)) {
    return;
  }
  misuse("a part of head " + std::to_string(part.head),
         "queries cut at multiples of " + std::to_string(kTiledPartQueries) + ", of " +
             std::to_string(input.n_queries) + ", and room for rows of " +
             std::to_string(input.n_keys) + " keys",
         "queries " + std::to_string(part.q_begin) + " to " + std::to_string(part.q_end - 1) +
             ", rows of " + std::to_string(part.pattern_stride));
}

template <typename T>
void check_statistics(const TiledAttentionInput<T>& input, const StatisticsShape& shape) {
  const AttentionSpec& spec = *input.spec;
  if (shape.n_heads != spec.n_heads || shape.n_queries != input.n_queries ||
      shape.n_keys != input.n_keys || input.first_query != 0) {
    misuse("statistics",
           std::to_string(spec.n_heads) + " heads, " + std::to_string(input.n_queries) +
               " queries from position 0 and " + std::to_string(input.n_keys) + " keys",
           std::to_string(shape.n_heads) + ", " + std::to_string(shape.n_queries) +
               " from position " + std::to_string(input.first_query) + ", " +
               std::to_string(shape.n_keys));
  }
  const bool causal = spec.mask == MaskKind::causal;
  if ((shape.causal && !shape.cross) != causal || (causal && shape.window != spec.window)) {
    misuse("the mask that statistics are told", "that of the AttentionSpec", "another");
  }
}

}  // namespace

template <typename T>
struct TiledScratch<T>::Buffers : TiledBuffers<T> {};

template <typename T>
TiledScratch<T>::TiledScratch() : buffers_(std::make_unique<Buffers>()) {}
template <typename T>
TiledScratch<T>::~TiledScratch() = default;
template <typename T>
TiledScratch<T>::TiledScratch(TiledScratch&&) noexcept = default;
template <typename T>
TiledScratch<T>& TiledScratch<T>::operator=(TiledScratch&&) noexcept = default;

template <typename T>
struct TiledAttention<T>::Layer : TiledLayer<T> {
  std::vector<std::uint8_t> prepared;  // [g]
};

template <typename T>
TiledAttention<T>::TiledAttention(const TiledAttentionInput<T>& input,
                                  const TiledAttentionOutput<T>& output) {
  check_input(input, output);
  if (output.statistics != nullptr) {
    check_statistics(input, output.statistics->heads_->layer.shape);
  }
  layer_ = std::make_unique<Layer>();
  layer_->input = input;
  layer_->output = output;
  const AttentionSpec& spec = *input.spec;
  const bool banded = spec.window > 0 && spec.mask == MaskKind::causal;
  const int widest = banded ? std::min(input.n_keys, spec.window + kTileRows) : input.n_keys;
  layer_->tile_rows = widest > kWideTile ? kTileRows / 2 : kTileRows;
  layer_->row_width = padded_width(widest);
  const std::int64_t n_panels = (input.n_keys + kPanelKeys - 1) / kPanelKeys;
  layer_->keys.at_least(spec.n_kv_heads * n_panels * kPanelKeys * spec.d_head);
  layer_->transpose_shaw_keys();
  if (output.statistics != nullptr) layer_->fill_distances();
  layer_->prepared.assign(static_cast<std::size_t>(spec.n_kv_heads), 0);
}

template <typename T>
TiledAttention<T>::~TiledAttention() = default;

template <typename T>
void TiledAttention<T>::prepare(int kv_head) {
  check_index("kv head", kv_head, layer_->input.spec->n_kv_heads);
  layer_->transpose_keys(kv_head);
  layer_->prepared[static_cast<std::size_t>(kv_head)] = 1;
}

template <typename T>
void TiledAttention<T>::compute(const TiledPart<T>& part, TiledScratch<T>& scratch) const {
  const TiledAttentionInput<T>& input = layer_->input;
  check_index("head", part.head, input.spec->n_heads);
  check_part(part, input);
  if (layer_->prepared[static_cast<std::size_t>(layer_->kv_head(part.head))] == 0) {
    misuse("head " + std::to_string(part.head), "its kv head prepared", "not yet");
  }
  typename TiledScratch<T>::Buffers& buffers = *scratch.buffers_;
  HeadStatistics* statistics = nullptr;
  if (layer_->output.statistics != nullptr) {
    StatisticsAccumulator::Heads& heads = *layer_->output.statistics->heads_;
    statistics = &heads.head(part.head);
    statistics->expect(part.head, part.q_begin, part.q_end - part.q_begin);
    buffers.top_keys = std::make_unique<TopKeysScratch<T>>(input.n_keys);
  }
  PartPass<T>(*layer_, part, buffers, statistics).run();
}

template class TiledScratch<float>;
template class TiledScratch<double>;
template class TiledAttention<float>;
template class TiledAttention<double>;

}  // namespace attnscope
