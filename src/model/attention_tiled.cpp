// Attention in tiles (kernels/tiled_attention.h) on the tensors of a run. Each row of the batch is
// computed without its pads, so that the kernel knows of none.
#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "attention.h"
#include "attnscope/kernels/tiled_attention.h"
#include "layer_statistics.h"
#include "matrix_product.h"

namespace attnscope {
namespace {

template <typename T>
HeadsView<const T> view_from(const at::Tensor& x, std::size_t row, int slot) {
  const auto b = static_cast<std::int64_t>(row);
  return {x.const_data_ptr<T>() + b * x.stride(0) + slot * x.stride(1), x.stride(1), x.stride(2)};
}

// [b t h d] in T, the values of a head side by side.
at::Tensor in_type(const at::Tensor& x, at::ScalarType type) {
  const at::Tensor wide = x.to(type);
  return wide.stride(-1) == 1 ? wide : wide.contiguous();
}

template <typename T>
class TiledLayer {
 public:
  TiledLayer(Run& run, int layer, const Heads& heads, const MapRequest& maps)
      : run_(run),
        layer_(layer),
        spec_(run.config.layers[static_cast<std::size_t>(layer)].attention),
        maps_(maps),
        type_(c10::CppTypeToScalarType<T>::value),
        q_(in_type(heads.q, type_)),
        k_(in_type(heads.k, type_)),
        v_(in_type(heads.v, type_)),
        statistics_(run, layer, run.taps.users(Site::pattern, layer)),
        scratches_(static_cast<std::size_t>(at::get_num_threads())) {
    const auto rows = static_cast<std::int64_t>(run.frames.size());
    const at::TensorOptions options(type_);
    // A pad's z is never computed.
    z_ = run.batch.padded() ? at::zeros(q_.sizes(), options) : at::empty(q_.sizes(), options);
    lse_ = at::empty({rows, spec_.n_heads, run.n_queries()}, options);
    if (const at::Tensor& sink = run.model.layer(layer).sink; sink.defined()) {
      sink_ = sink.to(type_).contiguous();
    }
    for (std::size_t b = 0; b < run.frames.size(); ++b) rows_.push_back(attention_of(b));
  }

  at::Tensor compute() {
    for_each(spec_.n_kv_heads, [this](std::size_t b, int g) { rows_[b]->prepare(g); });
    if (maps_.heads.empty()) {
      for_each(spec_.n_heads, [this](std::size_t b, int h) {
        compute_part(b, {.head = h, .q_begin = 0, .q_end = run_.frames[b].q_length});
      });
    } else {
      for (int begin = 0; begin < run_.n_queries(); begin += kMapStripQueries) strip(begin);
    }
    count_fully_masked();
    if (statistics_.wanted()) statistics_.finish(v_);
    return z_.to(run_.model.token_embedding.scalar_type());
  }

 private:
  std::unique_ptr<TiledAttention<T>> attention_of(std::size_t b);
  void compute_part(std::size_t b, const TiledPart<T>& part);
  at::Tensor block_of_maps(int queries);
  void strip(int begin);
  T* pattern_rows(const at::Tensor& block, std::size_t b, int head) const;
  void count_fully_masked();

  // Calls function(b, i) for every batch row and every i < count, on all threads.
  template <typename Function>
  void for_each(int count, Function&& function) {
    const auto tasks = static_cast<std::int64_t>(run_.frames.size()) * count;
    at::parallel_for(0, tasks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        function(static_cast<std::size_t>(task / count), static_cast<int>(task % count));
      }
    });
  }

  Run& run_;
  int layer_;
  const AttentionSpec& spec_;
  const MapRequest& maps_;
  at::ScalarType type_;
  at::Tensor q_;  // [b q h d]
  at::Tensor k_;  // [b k g d]
  at::Tensor v_;  // [b k g d]
  at::Tensor sink_;
  at::Tensor z_;    // [b q h d]
  at::Tensor lse_;  // [b h q]
  LayerStatistics statistics_;
  std::vector<std::unique_ptr<TiledAttention<T>>> rows_;  // by batch row
  std::vector<TiledScratch<T>> scratches_;                // by thread
};

template <typename T>
std::unique_ptr<TiledAttention<T>> TiledLayer<T>::attention_of(std::size_t b) {
  const RowFrame& frame = run_.frames[b];
  TiledAttentionInput<T> input;
  input.spec = &spec_;
  input.n_queries = frame.q_length;
  input.n_keys = frame.k_length;
  input.first_query = frame.first;
  input.q = view_from<T>(q_, b, frame.q_start);
  input.k = view_from<T>(k_, b, frame.k_start);
  input.v = view_from<T>(v_, b, frame.k_start);
  if (sink_.defined()) input.sink = sink_.const_data_ptr<T>();
  input.product = &multiply<T>;
  TiledAttentionOutput<T> output;
  const auto row = static_cast<std::int64_t>(b);
  output.z = {z_.mutable_data_ptr<T>() + row * z_.stride(0) + frame.q_start * z_.stride(1),
              z_.stride(1), z_.stride(2)};
  output.lse = lse_.mutable_data_ptr<T>() + row * lse_.stride(0);
  if (statistics_.wanted()) output.statistics = &statistics_.of_row(b);
  return std::make_unique<TiledAttention<T>>(input, output);
}

template <typename T>
void TiledLayer<T>::compute_part(std::size_t b, const TiledPart<T>& part) {
  rows_[b]->compute(part, scratches_[static_cast<std::size_t>(at::get_thread_num())]);
}

// Where a head's rows of a block [b h' q' k] lie; null where nobody wants the head.
template <typename T>
T* TiledLayer<T>::pattern_rows(const at::Tensor& block, std::size_t b, int head) const {
  const auto found = std::lower_bound(maps_.heads.begin(), maps_.heads.end(), head);
  if (!block.defined() || found == maps_.heads.end() || *found != head) return nullptr;
  const auto row = static_cast<std::int64_t>(b);
  return block.mutable_data_ptr<T>() + row * block.stride(0) +
         (found - maps_.heads.begin()) * block.stride(1) + run_.frames[b].k_start;
}

// Room for some queries of the wanted maps, [b h' q' k], that no observer holds; fresh memory would
// cost more in page faults than the rows take to compute.
template <typename T>
at::Tensor TiledLayer<T>::block_of_maps(int queries) {
  const auto rows = static_cast<std::int64_t>(run_.frames.size());
  const auto heads = static_cast<std::int64_t>(maps_.heads.size());
  const std::int64_t needed = rows * heads * queries * run_.n_keys();
  std::vector<at::Tensor>& strips = run_.map_strips;
  auto strip = std::find_if(strips.begin(), strips.end(),
                            [](const at::Tensor& x) { return x.storage().use_count() == 1; });
  if (strip == strips.end()) strip = strips.insert(strip, at::Tensor());
  if (!strip->defined() || strip->scalar_type() != type_ || strip->numel() < needed) {
    *strip = at::empty({needed}, at::TensorOptions(type_));
  }
  at::Tensor block = strip->narrow(0, 0, needed).view({rows, heads, queries, run_.n_keys()});
  return run_.batch.padded() ? block.zero_() : block;
}

// The same queries of every head, and then their maps are shown: nobody holds more than a strip.
template <typename T>
void TiledLayer<T>::strip(int begin) {
  const int end = std::min(begin + kMapStripQueries, run_.n_queries());
  at::Tensor block;
  if (begin < maps_.q_end && maps_.q_begin < end) block = block_of_maps(end - begin);
  for_each(spec_.n_heads, [&](std::size_t b, int head) {
    const int last = std::min(end, run_.frames[b].q_length);
    if (begin >= last) return;
    compute_part(b, {.head = head,
                     .q_begin = begin,
                     .q_end = last,
                     .pattern = pattern_rows(block, b, head),
                     .pattern_stride = run_.n_keys()});
  });
  if (!block.defined()) return;
  run_.taps.show_maps(*run_.taps.users(Site::pattern, layer_),
                      {block, maps_.heads, begin, run_.n_queries()});
}

template <typename T>
void TiledLayer<T>::count_fully_masked() {
  constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();
  for (std::size_t b = 0; b < run_.frames.size(); ++b) {
    for (int head = 0; head < spec_.n_heads; ++head) {
      const T* row = lse_.const_data_ptr<T>() + static_cast<std::int64_t>(b) * lse_.stride(0) +
                     static_cast<std::int64_t>(head) * run_.frames[b].q_length;
      run_.result.fully_masked_rows +=
          std::count(row, row + run_.frames[b].q_length, kMinusInfinity);
    }
  }
}

}  // namespace

at::Tensor tiled_attention(Run& run, int layer, const Heads& heads, const MapRequest& maps) {
  if (accumulation_type(heads.q.scalar_type()) == at::kDouble) {
    return TiledLayer<double>(run, layer, heads, maps).compute();
  }
  return TiledLayer<float>(run, layer, heads, maps).compute();
}

}  // namespace attnscope
