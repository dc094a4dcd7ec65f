// The host's part of the statistics pass on a CUDA device: is it possible, what does it need, and
// what does a block have to know.
#include <algorithm>
#include <string>
#include <utility>

#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/support/error.h"
#include "cuda_statistics_params.h"

namespace attnscope {
namespace {

[[noreturn]] void misuse(std::string what, std::string expected, std::string got) {
  throw Error(ErrorKind::internal, "KE10",
              {.where = "attention statistics on CUDA",
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got)});
}

int end_of_part(const CudaStatisticsInput& input) {
  return input.q_end < 0 ? input.n_queries : input.q_end;
}

void check_sizes(const CudaStatisticsInput& input) {
  const AttentionSpec& spec = *input.spec;
  if (spec.n_heads < 1 || spec.n_kv_heads < 1 || spec.n_heads % spec.n_kv_heads != 0 ||
      spec.d_head < 1 || input.n_queries < 1 || input.n_keys < 1 ||
      input.n_queries > kCudaMaxQueries || input.n_keys > kCudaMaxQueries) {
    misuse("the sizes of a layer",
           "query heads a multiple of kv heads, and at most " + std::to_string(kCudaMaxQueries) +
               " queries and keys",
           std::to_string(spec.n_heads) + " and " + std::to_string(spec.n_kv_heads) + " heads of " +
               std::to_string(spec.d_head) + ", " + std::to_string(input.n_queries) + " queries, " +
               std::to_string(input.n_keys) + " keys");
  }
  const int end = end_of_part(input);
  if (input.q_begin < 0 || input.q_begin % cuda::kMapTile != 0 || input.q_begin >= end ||
      end > input.n_queries || (end < input.n_queries && end % cuda::kMapTile != 0)) {
    misuse("the queries of a launch",
           "a range of them, cut at multiples of " + std::to_string(cuda::kMapTile),
           std::to_string(input.q_begin) + " to " + std::to_string(end));
  }
  if (input.top_k < 1 || input.top_k > kCudaMaxTopK) {
    misuse("top-k", "1 to " + std::to_string(kCudaMaxTopK), std::to_string(input.top_k));
  }
}

void check_mask(const CudaStatisticsInput& input) {
  const AttentionSpec& spec = *input.spec;
  if (!input.cross && input.n_queries != input.n_keys) {
    misuse("self-attention has a key for each query", std::to_string(input.n_queries),
           std::to_string(input.n_keys));
  }
  if (spec.window < 0 || (spec.window > 0 && (input.cross || spec.mask != MaskKind::causal))) {
    misuse("a sliding window", "a causal mask", std::to_string(spec.window));
  }
  if (spec.softmax_mix != 1) misuse("a mixed softmax", "1", std::to_string(spec.softmax_mix));
}

void check(const CudaStatisticsInput& input, const CudaMaps& maps) {
  if (input.spec == nullptr) misuse("the layer", "an AttentionSpec", "none");
  check_sizes(input);
  check_mask(input);
  if (maps.n_maps < 0 || maps.n_maps > input.spec->n_heads) {
    misuse("chosen maps", "at most one a head", std::to_string(maps.n_maps));
  }
}

void require_array(const char* name, const void* array, bool needed) {
  if (needed && array == nullptr) misuse(name, "an array on the device", "none");
}

// What scores are made of.
void check_score_arrays(const CudaStatisticsInput& input) {
  require_array("q", input.q.data, true);
  require_array("k", input.k.data, true);
  require_array("learned sink logits", input.sink, input.spec->learned_sink);
  require_array("distance bias", input.distance_bias, input.spec->alibi);
}

void check_arrays(const CudaStatisticsInput& input, const CudaMaps& maps,
                  const CudaStatisticsOutput& output) {
  check_score_arrays(input);
  require_array("lse", input.lse, true);
  require_array("the chain of equal ids", input.previous_same, !input.cross);
  require_array("the places of maps", maps.slot, maps.n_maps > 0);
  require_array("tiles of maps", maps.tiles, maps.n_maps > 0);
  require_array("row sums", output.rows, true);
  require_array("top-k values", output.topk_value, true);
  require_array("top-k keys", output.topk_index, true);
  require_array("key sums", output.key_sum, true);
  require_array("overview", output.overview, true);
}

std::int64_t value_bytes(CudaValue value) {
  return value == CudaValue::f32 ? 4 : 2;
}

int slices_of(const CudaStatisticsInput& input) {
  return cuda::pieces(static_cast<int>(input.spec->d_head * value_bytes(input.value)),
                      cuda::kSliceBytes);
}

// Rows of cells that the queries of one tile can lie in.
int rows_of_cells(int n_queries, int overview_rows) {
  int most = 0;
  for (int begin = 0; begin < n_queries; begin += cuda::kTile) {
    const int last = std::min(begin + cuda::kTile, n_queries) - 1;
    most = std::max(most, cuda::cells_of(last, overview_rows, n_queries).end -
                              cuda::cells_of(begin, overview_rows, n_queries).begin);
  }
  return most;
}

cuda::SharedLayout layout_of(const CudaStatisticsInput& input, int top_k, int cell_count) {
  cuda::SharedLayout layout;
  // The tensor cores' loads and stores want multiples of 32 bytes.
  const auto place = [&layout](int bytes) {
    return std::exchange(layout.bytes, layout.bytes + cuda::pieces(bytes, 32) * 32);
  };
  layout.q = place(slices_of(input) * cuda::kSliceTileBytes);
  layout.k = place(2 * cuda::kSliceTileBytes);
  layout.scores = place(cuda::kTile * cuda::kScorePitch * 4);
  layout.partial = place(cuda::kTile * 3 * 8);
  layout.chain = place((cuda::kTile + 1) * 4);
  layout.top_value = place(top_k * cuda::kThreads * 4);
  layout.top_index = place(top_k * cuda::kThreads * 4);
  layout.cells = place(cell_count * 4);
  layout.cell_count = cell_count;
  return layout;
}

cuda::Vectors vectors_of(const CudaHeads& heads, CudaValue value) {
  const std::int64_t bytes = value_bytes(value);
  return {static_cast<const unsigned char*>(heads.data), heads.position_stride * bytes,
          heads.head_stride * bytes};
}

bool in_sixteens(const cuda::Vectors& vectors) {
  return reinterpret_cast<std::uintptr_t>(vectors.data) % 16 == 0 &&
         vectors.position_stride % 16 == 0 && vectors.head_stride % 16 == 0;
}

CudaStatisticsBytes bytes_of(const cuda::StatisticsParams& p, const CudaMaps& maps) {
  const std::int64_t rows = std::int64_t{p.n_heads} * p.n_queries;
  CudaStatisticsBytes bytes;
  bytes.rows = rows * kCudaRowSumCount * 4;
  bytes.topk_value = rows * p.top_k * 4;
  bytes.topk_index = rows * p.top_k * 4;
  bytes.key_sum = std::int64_t{p.n_heads} * p.n_keys * 8;
  bytes.overview = std::int64_t{p.n_heads} * p.overview_rows * p.overview_cols * 4;
  bytes.tiles = maps.n_maps * p.tiles_per_map * std::min(cuda::kMapTile, p.n_queries) *
                std::min(cuda::kMapTile, p.n_keys) * (maps.value == CudaMapValue::f16 ? 2 : 4);
  bytes.total = bytes.rows + bytes.topk_value + bytes.topk_index + bytes.key_sum + bytes.overview +
                bytes.tiles;
  return bytes;
}

std::string in_mib(std::int64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

void check_limits(const CudaStatisticsPlan& plan, const CudaMaps& maps, const CudaLimits& limits) {
  if (plan.shared_bytes > limits.shared_bytes) {
    const std::int64_t excess = plan.shared_bytes - limits.shared_bytes;
    const std::int64_t fits =
        plan.top_k - cuda::pieces(static_cast<int>(excess), 8 * cuda::kThreads);
    throw Error(ErrorKind::limit, "KE11",
                {.where = "attention statistics on CUDA",
                 .what = "the shared memory of one block",
                 .expected = "at most " + std::to_string(limits.shared_bytes) + " bytes",
                 .got = std::to_string(plan.shared_bytes),
                 .next = fits > 0 ? "ask for the top " + std::to_string(fits) + " keys or fewer"
                                  : "use another engine for heads of this size"});
  }
  if (plan.bytes.total <= limits.memory_bytes) return;
  const std::int64_t without = plan.bytes.total - plan.bytes.tiles;
  const std::int64_t fits =
      maps.n_maps == 0 ? 0 : (limits.memory_bytes - without) / (plan.bytes.tiles / maps.n_maps);
  throw Error(ErrorKind::limit, "KE11",
              {.where = "attention statistics on CUDA",
               .what = "the results of one layer",
               .expected = "at most " + in_mib(limits.memory_bytes) + " of device memory",
               .got = in_mib(plan.bytes.total),
               .next = without <= limits.memory_bytes
                           ? "ask for at most " + std::to_string(fits) + " maps a layer"
                           : "use a shorter prompt, or --device cpu"});
}

// All that a block reads but for arrays.
cuda::StatisticsParams sizes_of(const CudaStatisticsInput& input, const CudaMaps& maps) {
  check(input, maps);
  const AttentionSpec& spec = *input.spec;
  cuda::StatisticsParams p;
  p.n_heads = spec.n_heads;
  p.heads_per_kv = spec.n_heads / spec.n_kv_heads;
  p.d_head = spec.d_head;
  p.n_queries = input.n_queries;
  p.n_keys = input.n_keys;
  p.top_k = std::min(input.top_k, input.n_keys);
  p.window = spec.window;
  p.causal = spec.mask == MaskKind::causal && !input.cross;
  p.cross = input.cross;
  p.scale = static_cast<float>(spec.scale);
  p.softcap = static_cast<float>(spec.softcap);
  p.overview_rows = std::min(kOverviewSide, input.n_queries);
  p.overview_cols = std::min(kOverviewSide, input.n_keys);
  const int end = end_of_part(input);
  p.first_tile = input.q_begin / cuda::kTile;
  p.query_tiles = cuda::pieces(end - input.q_begin, cuda::kTile);
  p.tiles_before = cuda::map_tiles_before(p, input.q_begin / cuda::kMapTile);
  p.tiles_per_map = cuda::map_tiles_before(p, cuda::pieces(end, cuda::kMapTile)) - p.tiles_before;
  p.shared =
      layout_of(input, p.top_k, rows_of_cells(input.n_queries, p.overview_rows) * p.overview_cols);
  return p;
}

void set_score_arrays(const CudaStatisticsInput& input, cuda::StatisticsParams& p) {
  p.q = vectors_of(input.q, input.value);
  p.k = vectors_of(input.k, input.value);
  p.vector_copies =
      in_sixteens(p.q) && in_sixteens(p.k) && p.d_head * value_bytes(input.value) % 16 == 0;
  p.lse_stride = input.lse_stride;
  p.sink = input.spec->learned_sink ? input.sink : nullptr;
  p.bias = input.distance_bias;
  p.bias_stride = input.bias_stride;
  p.bias_zero = input.bias_zero;
}

}  // namespace

namespace cuda {

StatisticsParams make_params(const CudaStatisticsInput& input, const CudaMaps& maps,
                             const CudaStatisticsOutput& output) {
  StatisticsParams p = sizes_of(input, maps);
  check_arrays(input, maps, output);
  set_score_arrays(input, p);
  p.lse = input.lse;
  p.previous_same = input.previous_same;
  p.out = output;
  p.maps = maps;
  if (maps.n_maps == 0) p.maps.slot = nullptr;
  return p;
}

StatisticsParams make_lse_params(const CudaStatisticsInput& input, float* lse) {
  CudaStatisticsInput whole = input;
  whole.q_begin = 0;
  whole.q_end = -1;
  StatisticsParams p = sizes_of(whole, {});
  check_score_arrays(input);
  require_array("the log-sum-exps", lse, true);
  set_score_arrays(input, p);
  p.lse_out = lse;
  // It keeps no top keys and no overview.
  p.shared = layout_of(input, 0, 0);
  return p;
}

}  // namespace cuda

CudaStatisticsPlan plan_cuda_statistics(const CudaStatisticsInput& input, const CudaMaps& maps,
                                        const CudaLimits& limits) {
  const cuda::StatisticsParams p = sizes_of(input, maps);
  CudaStatisticsPlan plan;
  plan.query_tiles = p.query_tiles;
  plan.threads = cuda::kThreads;
  plan.shared_bytes = p.shared.bytes;
  plan.top_k = p.top_k;
  plan.overview_rows = p.overview_rows;
  plan.overview_cols = p.overview_cols;
  plan.tiles_per_map = p.tiles_per_map;
  plan.first_tile_column = cuda::map_columns(p, input.q_begin / cuda::kMapTile).begin;
  plan.bytes = bytes_of(p, maps);
  check_limits(plan, maps, limits);
  return plan;
}

}  // namespace attnscope
