// Attention on a CUDA device. z is LibTorch's; statistics and maps of the layer come from the two
// passes of kernels/cuda_statistics.h over its q and k, each row of the batch without its pads.
// They are copied to the host beside the rest of the run, which shows them to observers a step
// later.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attention.h"
#include "attnscope/kernels/cuda_finish.h"
#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/model/engine_rule.h"
#include "layer_statistics.h"

namespace attnscope {
namespace {

// The launch only: LibTorch runs on the device's default stream, and so do the kernels.
constexpr void* kDefaultStream = nullptr;
// Launches refuse what does not fit a block; the arrays have been allocated by then.
constexpr CudaLimits kAnyDevice = {std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::max()};

CudaValue value_of(at::ScalarType type) {
  if (type == at::kHalf) return CudaValue::f16;
  return type == at::kBFloat16 ? CudaValue::bf16 : CudaValue::f32;
}

// Values of a head side by side, as the kernels read them.
at::Tensor readable(const at::Tensor& heads) {
  return heads.stride(-1) == 1 ? heads : heads.contiguous();
}

CudaHeads row_of(const at::Tensor& heads, std::size_t row, int slot) {
  const auto b = static_cast<std::int64_t>(row);
  const auto* const data = static_cast<const unsigned char*>(heads.const_data_ptr());
  const std::int64_t first = b * heads.stride(0) + slot * heads.stride(1);
  return {data + first * static_cast<std::int64_t>(heads.element_size()), heads.stride(1),
          heads.stride(2)};
}

// Where the arrays of one row lie in a layer's buffer, in bytes.
struct RowPlaces {
  std::int64_t lse = 0, rows = 0, topk_value = 0, topk_index = 0, key_sum = 0, overview = 0;
};

template <typename T>
T* array_at(const at::Tensor& buffer, std::int64_t place) {
  return reinterpret_cast<T*>(buffer.mutable_data_ptr<std::uint8_t>() + place);
}

float* lse_in(const at::Tensor& buffer, const RowPlaces& row) {
  return array_at<float>(buffer, row.lse);
}

CudaStatisticsOutput output_in(const at::Tensor& buffer, const RowPlaces& row) {
  return {array_at<float>(buffer, row.rows), array_at<float>(buffer, row.topk_value),
          array_at<std::int32_t>(buffer, row.topk_index),
          array_at<std::uint64_t>(buffer, row.key_sum),
          array_at<std::uint32_t>(buffer, row.overview)};
}

// What becomes statistics on the host.
struct FinishedPass {
  std::vector<StatisticsShape> shapes;  // by batch row
  std::vector<RowPlaces> places;
  std::vector<int> first_keys;  // slots
  HostCopy arrays;              // bytes
  HostCopy value_norms;         // [b h k] float
};

std::int64_t rows_that_see_nothing(const float* lse, std::int64_t count) {
  return std::count(lse, lse + count, -std::numeric_limits<float>::infinity());
}

std::vector<AttentionStatistics> statistics_of(const FinishedPass& pass) {
  const at::Tensor& arrays = pass.arrays.wait();
  const at::Tensor& norms = pass.value_norms.wait();
  std::vector<AttentionStatistics> finished(pass.shapes.size());
  at::parallel_for(
      0, static_cast<std::int64_t>(finished.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) {
          const auto i = static_cast<std::size_t>(b);
          const StatisticsShape& shape = pass.shapes[i];
          const at::Tensor own = norms[b].narrow(1, pass.first_keys[i], shape.n_keys).contiguous();
          finished[i] = finish_cuda_statistics(
              shape, {output_in(arrays, pass.places[i]), lse_in(arrays, pass.places[i]),
                      own.const_data_ptr<float>()});
        }
      });
  return finished;
}

// Maps of one batch row in a part of the queries, as the kernel writes them: tiles
// [h' tile query key].
struct TiledRows {
  std::int64_t place = 0;  // in the part's buffer, in floats
  std::int64_t tiles_per_map = 0;
  int first_column = 0;       // of tiles
  int n_rows = 0;             // queries
  int height = 0, width = 0;  // of a tile
  int n_keys = 0;
  int k_start = 0;  // slot of key 0
};

// Rows [h' q k'] of one batch row from its tiles; what no tile covers stays 0.
void lay_out_rows(const float* tiles, const TiledRows& from, const at::Tensor& rows) {
  const std::int64_t tile_size = std::int64_t{from.height} * from.width;
  at::parallel_for(0, rows.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t h = begin; h < end; ++h) {
      float* const map = rows.mutable_data_ptr<float>() + h * rows.stride(0) + from.k_start;
      const float* tile = tiles + from.place + h * from.tiles_per_map * tile_size;
      for (std::int64_t t = 0; t < from.tiles_per_map; ++t, tile += tile_size) {
        const std::int64_t key = (from.first_column + t) * kCudaMapTile;
        const auto n =
            static_cast<std::size_t>(std::min<std::int64_t>(from.width, from.n_keys - key));
        for (std::int64_t q = 0; q < from.n_rows; ++q) {
          std::memcpy(map + q * rows.stride(1) + key, tile + q * from.width, n * sizeof(float));
        }
      }
    }
  });
}

class CudaLayer {
 public:
  CudaLayer(Run& run, int layer, const Heads& heads, const MapRequest& maps)
      : run_(run),
        layer_(layer),
        spec_(run.config.layers[static_cast<std::size_t>(layer)].attention),
        maps_(maps),
        users_(run.taps.users(Site::pattern, layer)),
        top_k_(wanted_top_k(users_)),
        q_(readable(heads.q)),
        k_(readable(heads.k)),
        v_(heads.v) {}

  void launch() {
    if (!top_k_ && maps_.heads.empty()) return;
    const c10::DeviceGuard guard(run_.model.device);
    prepare();
    for (std::size_t b = 0; b < inputs_.size(); ++b) {
      launch_cuda_lse(inputs_[b], lse_in(arrays_, places_[b]), kDefaultStream);
    }
    if (maps_.heads.empty()) {
      for (std::size_t b = 0; b < inputs_.size(); ++b) launch_row(b, {});
    } else {
      for (int begin = 0; begin < run_.n_queries(); begin += kCudaMapTile) part(begin);
    }
    if (top_k_) deliver_statistics();
  }

 private:
  void prepare();
  void launch_row(std::size_t b, const CudaMaps& maps) {
    launch_cuda_statistics(inputs_[b], maps, output_in(arrays_, places_[b]), kDefaultStream);
  }
  void part(int begin);
  void deliver_maps(int begin, int end, const at::Tensor& tiles, std::vector<TiledRows> rows);
  void deliver_statistics();

  Run& run_;
  int layer_;
  const AttentionSpec& spec_;
  MapRequest maps_;
  const HookUsers* users_;
  std::optional<int> top_k_;                 // none: no statistics are wanted
  at::Tensor q_;                             // [b q h d]
  at::Tensor k_;                             // [b k g d]
  at::Tensor v_;                             // [b k g d]
  at::Tensor sink_;                          // [h] float
  at::Tensor slots_;                         // [h] place of a head's map
  at::Tensor arrays_;                        // all arrays of all rows
  std::vector<CudaStatisticsInput> inputs_;  // by batch row
  std::vector<RowPlaces> places_;
};

void CudaLayer::prepare() {
  const c10::Device device = run_.model.device;
  if (const at::Tensor& sink = run_.model.layer(layer_).sink; sink.defined()) {
    sink_ = sink.to(at::kFloat).contiguous();
  }
  std::vector<std::int32_t> slots(static_cast<std::size_t>(spec_.n_heads), -1);
  for (std::size_t i = 0; i < maps_.heads.size(); ++i) {
    slots[static_cast<std::size_t>(maps_.heads[i])] = static_cast<std::int32_t>(i);
  }
  if (!maps_.heads.empty()) slots_ = upload(slots, device);

  const at::Tensor& previous_same = run_.previous_same();
  std::int64_t bytes = 0;
  const auto place = [&bytes](std::int64_t size) {
    constexpr std::int64_t kAlignment = 16;
    return std::exchange(bytes, bytes + (size + kAlignment - 1) / kAlignment * kAlignment);
  };
  for (std::size_t b = 0; b < run_.frames.size(); ++b) {
    const RowFrame& frame = run_.frames[b];
    CudaStatisticsInput input;
    input.spec = &spec_;
    input.value = value_of(q_.scalar_type());
    input.n_queries = frame.q_length;
    input.n_keys = frame.k_length;
    input.q = row_of(q_, b, frame.q_start);
    input.k = row_of(k_, b, frame.k_start);
    input.lse_stride = frame.q_length;
    if (sink_.defined()) input.sink = sink_.const_data_ptr<float>();
    input.previous_same = previous_same.const_data_ptr<std::int32_t>() +
                          static_cast<std::int64_t>(b) * previous_same.size(1) + frame.q_start;
    input.top_k = top_k_.value_or(1);
    const CudaStatisticsBytes need = plan_cuda_statistics(input, {}, kAnyDevice).bytes;
    RowPlaces at;
    at.lse = place(std::int64_t{spec_.n_heads} * frame.q_length * 4);
    at.rows = place(need.rows);
    at.topk_value = place(need.topk_value);
    at.topk_index = place(need.topk_index);
    at.key_sum = place(need.key_sum);
    at.overview = place(need.overview);
    places_.push_back(at);
    inputs_.push_back(input);
  }
  arrays_ = at::empty({bytes}, at::TensorOptions(at::kByte).device(device));
  for (std::size_t b = 0; b < inputs_.size(); ++b) inputs_[b].lse = lse_in(arrays_, places_[b]);
}

// Queries begin … of every row, with their maps where somebody wants them.
void CudaLayer::part(int begin) {
  const int end = std::min(begin + kCudaMapTile, run_.n_queries());
  const bool shown = begin < maps_.q_end && maps_.q_begin < end;
  const auto n_maps = static_cast<int>(maps_.heads.size());
  std::vector<TiledRows> rows(inputs_.size());
  std::int64_t floats = 0;
  for (std::size_t b = 0; b < inputs_.size(); ++b) {
    CudaStatisticsInput& input = inputs_[b];
    if (begin >= input.n_queries) continue;
    input.q_begin = begin;
    input.q_end = std::min(end, input.n_queries);
    const CudaStatisticsPlan plan =
        plan_cuda_statistics(input, {.n_maps = n_maps, .value = CudaMapValue::f32}, kAnyDevice);
    rows[b] = {.place = floats,
               .tiles_per_map = plan.tiles_per_map,
               .first_column = plan.first_tile_column,
               .n_rows = input.q_end - begin,
               .height = std::min(kCudaMapTile, input.n_queries),
               .width = std::min(kCudaMapTile, input.n_keys),
               .n_keys = input.n_keys,
               .k_start = run_.frames[b].k_start};
    floats += plan.bytes.tiles / 4;
  }
  at::Tensor tiles;
  if (shown) tiles = at::empty({floats}, at::TensorOptions(at::kFloat).device(run_.model.device));
  for (std::size_t b = 0; b < inputs_.size(); ++b) {
    if (begin >= inputs_[b].n_queries) continue;
    CudaMaps maps;
    if (shown) {
      maps = {.n_maps = n_maps,
              .slot = slots_.const_data_ptr<std::int32_t>(),
              .value = CudaMapValue::f32,
              .tiles = tiles.mutable_data_ptr<float>() + rows[b].place};
    }
    launch_row(b, maps);
  }
  if (shown) deliver_maps(begin, end, tiles, std::move(rows));
}

void CudaLayer::deliver_maps(int begin, int end, const at::Tensor& tiles,
                             std::vector<TiledRows> rows) {
  run_.deliveries.push([&run = run_, &users = *users_, heads = maps_.heads, begin, end,
                        copy = run_.copies.start(tiles), rows = std::move(rows)] {
    const auto* const values = copy.wait().const_data_ptr<float>();
    const auto n_rows = static_cast<std::int64_t>(rows.size());
    const at::Tensor maps = at::zeros(
        {n_rows, static_cast<std::int64_t>(heads.size()), end - begin, run.n_keys()}, at::kFloat);
    for (std::int64_t b = 0; b < n_rows; ++b) {
      lay_out_rows(values, rows[static_cast<std::size_t>(b)], maps[b]);
    }
    for (int first = begin; first < end; first += kQueryBlock) {
      const at::Tensor block = maps.narrow(2, first - begin, std::min(kQueryBlock, end - first));
      run.taps.show_maps(users, {block, heads, first, run.n_queries()});
    }
  });
}

void CudaLayer::deliver_statistics() {
  FinishedPass pass;
  pass.shapes = statistics_shapes(run_, layer_, *top_k_);
  pass.places = places_;
  for (const RowFrame& frame : run_.frames) pass.first_keys.push_back(frame.k_start);
  pass.arrays = run_.copies.start(arrays_);
  pass.value_norms = run_.copies.start(value_norms(run_, layer_, v_).to(at::kFloat));
  run_.deliveries.push([&run = run_, &users = *users_, pass = std::move(pass)] {
    const std::vector<AttentionStatistics> finished = statistics_of(pass);
    for (std::size_t b = 0; b < finished.size(); ++b) {
      run.result.fully_masked_rows +=
          rows_that_see_nothing(lse_in(pass.arrays.wait(), pass.places[b]),
                                std::int64_t{finished[b].n_heads} * finished[b].n_queries);
    }
    give_statistics(run, users, finished);
  });
}

// Explicit blocks hold 128 queries of scores, and know of every variant.
at::Tensor z_of(Run& run, int layer, const Heads& heads) {
  const AttentionSpec& spec = run.config.layers[static_cast<std::size_t>(layer)].attention;
  if (fusion_obstacle(spec).empty()) {
    return fused_attention(run, layer, heads, FusedMemory::linear);
  }
  ExplicitRequest request = whole_layer(run, spec);
  request.output = ExplicitOutput::z;
  return explicit_attention(run, layer, heads, request);
}

}  // namespace

at::Tensor cuda_attention(Run& run, int layer, const Heads& heads, const MapRequest& maps) {
  at::Tensor z = z_of(run, layer, heads);
  CudaLayer(run, layer, heads, maps).launch();
  return z;
}

}  // namespace attnscope
