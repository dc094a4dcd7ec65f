// File: cuda_statistics_body.h
// The statistics pass of one block: 64 queries of one head against all keys that they see, in tiles
// of 64 keys, from the last tile to the first (most heads look near, so the top keys come early).
// C++17, without CUDA's own words: `Block` says which thread this is, waits for the others, copies
// and adds; `Product` multiplies. The device gives both, and so do the tests on the host.
//
// A tile goes through three phases with a sync between them:
//   1. all threads: scores of the tile, slice by slice of d
//   2. two threads a row: weights, sums over the row, top keys
//   3. two threads a column: key sums, largest weights; masses at chosen keys; stored maps
#pragma once

#include "cuda_bits.h"
#include "cuda_statistics_params.h"

namespace attnscope::cuda {

// Where a block waits for all of its threads, and what for.
enum class Sync : int {
  slice,     // the slice that comes next is there, and the one before it may be overwritten
  scores,    // the tile's scores are whole
  weights,   // the tile's weights are whole
  finished,  // all tiles are done: lists, sums and cells of all threads
};
inline constexpr int kSyncCount = static_cast<int>(Sync::finished) + 1;

enum class Visible : std::uint8_t { all, some };

template <class Block, class Product>
class StatisticsPass {
 public:
  using Stored = typename Product::Stored;

  ATTNSCOPE_DEVICE StatisticsPass(Block& block, const StatisticsParams& params,
                                  unsigned char* shared)
      : block_(block),
        p_(params),
        shared_(shared),
        thread_(block.thread()),
        head_(block.head()),
        first_query_(block.query_tile() * kTile),
        row_(thread_ / 2),
        half_(thread_ % 2),
        query_(first_query_ + row_),
        is_row_(query_ < params.n_queries) {}

  ATTNSCOPE_DEVICE void run() {
    const int last_query = smaller(first_query_ + kTile, p_.n_queries) - 1;
    const int first_tile = visible_keys(p_, first_query_).begin / kTile;
    const int end_tile = pieces(visible_keys(p_, last_query).end, kTile);
    begin_row();
    clear_cells();
    load_queries();
    load_keys((end_tile - 1) * kTile, 0, 0);
    int step = 0;
    for (int tile = end_tile - 1; tile >= first_tile; --tile) {
      make_scores(tile, first_tile, step);
      const int first_key = tile * kTile;
      if (sees_all(first_key, last_query)) {
        reduce_rows<Visible::all>(first_key);
      } else {
        reduce_rows<Visible::some>(first_key);
      }
      block_.sync(Sync::weights);
      reduce_columns(first_key, last_query);
      add_chosen_keys(first_key);
      store_map(first_key);
    }
    if (half_ == 1) give_partial_sums();
    block_.sync(Sync::finished);
    store_cells();
    if (is_row_) store_row();
  }

 private:
  template <class T>
  ATTNSCOPE_DEVICE T* at(std::int32_t offset) const {
    return reinterpret_cast<T*>(shared_ + offset);
  }
  ATTNSCOPE_DEVICE float* scores() const { return at<float>(p_.shared.scores); }
  ATTNSCOPE_DEVICE Stored* query_slice(int slice) const {
    return at<Stored>(p_.shared.q + slice * kSliceTileBytes);
  }
  ATTNSCOPE_DEVICE Stored* key_slice(int buffer) const {
    return at<Stored>(p_.shared.k + buffer * kSliceTileBytes);
  }
  ATTNSCOPE_DEVICE int n_slices() const { return pieces(p_.d_head, Product::kDepth); }

  // --- Phase 1: scores ---

  // Rows first_row … of `heads` [position d] into a slice [64 kDepth]; 0 where there are none.
  ATTNSCOPE_DEVICE void load_slice(const Vectors& vectors, int head, int first_row, int n_rows,
                                   int slice, Stored* to) {
    const unsigned char* const from = vectors.data + head * vectors.head_stride;
    const int depth = slice * Product::kDepth;
    if (p_.vector_copies) {
      constexpr int kChunks = kSliceBytes / 16;
      constexpr int kPerChunk = 16 / static_cast<int>(sizeof(Stored));
      for (int e = thread_; e < kTile * kChunks; e += kThreads) {
        const int row = e / kChunks, d = e % kChunks * kPerChunk;
        Stored* const place = to + row * Product::kPitch + d;
        if (first_row + row < n_rows && depth + d < p_.d_head) {
          block_.copy16(place, from + (first_row + row) * vectors.position_stride +
                                   (depth + d) * static_cast<int>(sizeof(Stored)));
        } else {
          for (int i = 0; i < kPerChunk; ++i) place[i] = Stored{};
        }
      }
      return;
    }
    for (int e = thread_; e < kTile * Product::kDepth; e += kThreads) {
      const int row = e / Product::kDepth, d = e % Product::kDepth;
      Stored value{};
      if (first_row + row < n_rows && depth + d < p_.d_head) {
        value = reinterpret_cast<const Stored*>(from + (first_row + row) *
                                                           vectors.position_stride)[depth + d];
      }
      to[row * Product::kPitch + d] = value;
    }
  }

  ATTNSCOPE_DEVICE void load_queries() {
    for (int s = 0; s < n_slices(); ++s) {
      load_slice(p_.q, head_, first_query_, p_.n_queries, s, query_slice(s));
    }
  }

  ATTNSCOPE_DEVICE void load_keys(int first_key, int slice, int buffer) {
    load_slice(p_.k, head_ / p_.heads_per_kv, first_key, p_.n_keys, slice, key_slice(buffer));
  }

  // q·k of the tile. While one slice of keys is multiplied the next one is on its way.
  ATTNSCOPE_DEVICE void make_scores(int tile, int first_tile, int& step) {
    Product product;
    product.clear();
    for (int s = 0; s < n_slices(); ++s, ++step) {
      block_.wait_for_copies();
      block_.sync(Sync::slice);
      if (s + 1 < n_slices()) {
        load_keys(tile * kTile, s + 1, (step + 1) % 2);
      } else if (tile > first_tile) {
        load_keys((tile - 1) * kTile, 0, (step + 1) % 2);
      }
      product.add(thread_, query_slice(s), key_slice(step % 2));
    }
    product.store(thread_, scores());
    load_chain(tile * kTile);
    block_.sync(Sync::scores);
  }

  // --- Phase 2: rows ---

  ATTNSCOPE_DEVICE void begin_row() {
    float lse = infinity();
    if (is_row_) lse = p_.lse[head_ * p_.lse_stride + query_];
    // A row that sees nothing has weights 0.
    lse_ = lse == -infinity() ? infinity() : lse;
    bar_ = not_a_number();
    for (int place = 0; place < p_.top_k; ++place) top_index(place) = -1;
    if (is_row_ && !p_.cross) match_ = p_.previous_same[query_];
    chosen_[0] = half_ == 0 ? query_ : query_ - 1;
    chosen_[1] = half_ == 0 ? query_ + 1 : 0;
  }

  // The tile has all of its queries, and each sees every key of it.
  ATTNSCOPE_DEVICE bool sees_all(int first_key, int last_query) const {
    return last_query == first_query_ + kTile - 1 &&
           visible_keys(p_, first_query_).end >= first_key + kTile &&
           visible_keys(p_, last_query).begin <= first_key;
  }

  // Scores of this thread's half of its row become weights. The halves take turns of 16 keys, so
  // that eight threads that read four values each use different banks.
  template <Visible kVisible>
  ATTNSCOPE_DEVICE void reduce_rows(int first_key) {
    Span visible = is_row_ ? visible_keys(p_, query_) : Span{};
    float entropy = 0, square = 0, distance = 0;
    for (int part = 1; part >= 0; --part) {
      for (int i = 12; i >= 0; i -= 4) {
        const int column = part * 32 + half_ * 16 + i;
        Four& four = *reinterpret_cast<Four*>(scores() + row_ * kScorePitch + column);
        Four weights = four;
        ATTNSCOPE_UNROLL
        for (int e = 3; e >= 0; --e) {
          const int key = first_key + column + e;
          float weight = 0;
          if (kVisible == Visible::all || (key >= visible.begin && key < visible.end)) {
            const float score = score_of(weights.x[e], key);
            const float below = score - lse_;  // ln α
            weight = Block::exp(below);
            // exp(−10,000) is 0, as 0 · ln 0 is to be.
            entropy -= weight * (below < -1e4F ? -1e4F : below);
            square += weight * weight;
            const float apart = static_cast<float>(query_ - key);
            distance += weight * (apart < 0 ? -apart : apart);
            if (!(score < bar_)) offer(score, key);
          }
          weights.x[e] = weight;
        }
        four = weights;
      }
    }
    entropy_ += static_cast<double>(entropy);
    square_ += static_cast<double>(square);
    distance_ += static_cast<double>(distance);
  }

  ATTNSCOPE_DEVICE float score_of(float product, int key) const {
    float score = product * p_.scale;
    if (p_.softcap > 0) score = p_.softcap * Block::tanh(score / p_.softcap);
    if (p_.bias != nullptr) {
      score += p_.bias[head_ * p_.bias_stride + (key - query_) + p_.bias_zero];
    }
    return score;
  }

  ATTNSCOPE_DEVICE float& top_value(int place) {
    return at<float>(p_.shared.top_value)[place * kThreads + thread_];
  }
  ATTNSCOPE_DEVICE std::int32_t& top_index(int place) {
    return at<std::int32_t>(p_.shared.top_index)[place * kThreads + thread_];
  }

  // Enters a score that is not below bar_, the last of a full list. A thread meets its keys in
  // falling order, so that of equal scores the later one stands before. NaN never enters.
  ATTNSCOPE_DEVICE void offer(float score, int key) {
    if (score != score) return;
    int place = n_top_ < p_.top_k ? n_top_++ : p_.top_k - 1;
    for (; place > 0 && !(top_value(place - 1) > score); --place) {
      top_value(place) = top_value(place - 1);
      top_index(place) = top_index(place - 1);
    }
    top_value(place) = score;
    top_index(place) = key;
    if (n_top_ == p_.top_k) bar_ = top_value(p_.top_k - 1);
  }

  // --- Phase 3: columns, chosen keys, maps ---

  // Sums of 32 rows in their order, then integers.
  ATTNSCOPE_DEVICE void reduce_columns(int first_key, int last_query) {
    const int column = thread_ % kTile, first_row = thread_ / kTile * 32;
    const int key = first_key + column;
    if (key >= p_.n_keys) return;
    const float* const weights = scores() + column;
    float sum = 0;
    for (int r = first_row; r < first_row + 32; ++r) sum += weights[r * kScorePitch];
    add_to_key(key, sum);

    const int end_row = smaller(first_row + 32, last_query + 1 - first_query_);
    if (first_row >= end_row) return;
    const int first_cell = cells_of(first_query_, p_.overview_rows, p_.n_queries).begin;
    const Span columns = cells_of(key, p_.overview_cols, p_.n_keys);
    const int end_cell = cells_of(first_query_ + end_row - 1, p_.overview_rows, p_.n_queries).end;
    int cell = cells_of(first_query_ + first_row, p_.overview_rows, p_.n_queries).begin;
    for (; cell < end_cell; ++cell) {
      const Span rows = cell_range(cell, p_.overview_rows, p_.n_queries);
      float largest = 0;
      const int end = smaller(end_row, rows.end - first_query_);
      for (int r = larger(first_row, rows.begin - first_query_); r < end; ++r) {
        const float weight = weights[r * kScorePitch];
        if (weight > largest) largest = weight;
      }
      for (int c = columns.begin; c < columns.end; ++c) {
        block_.raise_shared(cells() + (cell - first_cell) * p_.overview_cols + c, bits_of(largest));
      }
    }
  }

  ATTNSCOPE_DEVICE void add_to_key(int key, float sum) {
    std::uint64_t* const place =
        p_.out.key_sum + static_cast<std::int64_t>(head_) * p_.n_keys + key;
    // 32 weights: more than this, or NaN, comes of scores that are not those of lse.
    if (!(sum <= 64)) {
      block_.set_bits(place, kCudaKeySumNan);
    } else if (sum > 0) {
      block_.add(place,
                 static_cast<std::uint64_t>(static_cast<double>(sum) / kCudaKeySumUnit + 0.5));
    }
  }

  // previous_same of the tile's keys and of the key before them.
  ATTNSCOPE_DEVICE void load_chain(int first_key) {
    if (p_.cross || thread_ > kTile) return;
    const int key = first_key - 1 + thread_;
    std::int32_t previous = -1;
    if (key >= 0 && key < p_.n_keys) previous = p_.previous_same[key];
    at<std::int32_t>(p_.shared.chain)[thread_] = previous;
  }

  // Mass on keys that follow from the query alone. The first thread of a row walks along the
  // earlier keys with the query's id, the second along those right behind them.
  ATTNSCOPE_DEVICE void add_chosen_keys(int first_key) {
    if (!is_row_) return;
    const float* const weights = scores() + row_ * kScorePitch;
    ATTNSCOPE_UNROLL
    for (int s = 0; s < 2; ++s) {
      const int column = chosen_[s] - first_key;
      if (column >= 0 && column < kTile) chosen_mass_[s] = weights[column];
    }
    if (p_.cross) return;
    const std::int32_t* const chain = at<std::int32_t>(p_.shared.chain);
    while (match_ >= 0 && match_ + half_ >= first_key) {
      const int column = match_ + half_ - first_key;
      if (match_ + half_ < query_) matched_ += static_cast<double>(weights[column]);
      match_ = chain[match_ - first_key + 1];
    }
  }

  // The tile's weights of a head that is wanted, at their place in the stored tile around them.
  ATTNSCOPE_DEVICE void store_map(int first_key) {
    if (p_.maps.slot == nullptr) return;
    const int slot = p_.maps.slot[head_];
    if (slot < 0) return;
    const int tile_row = first_query_ / kMapTile, tile_column = first_key / kMapTile;
    const int height = smaller(kMapTile, p_.n_queries), width = smaller(kMapTile, p_.n_keys);
    const std::int64_t tile = slot * p_.tiles_per_map + map_tiles_before(p_, tile_row) +
                              tile_column - map_columns(p_, tile_row).begin;
    const std::int64_t origin =
        (tile * height + first_query_ % kMapTile) * width + first_key % kMapTile;
    const int n_rows = smaller(kTile, p_.n_queries - first_query_);
    for (int e = thread_; e < n_rows * kTile; e += kThreads) {
      const int row = e / kTile, column = e % kTile;
      if (first_key + column >= p_.n_keys) continue;
      store_value(origin + static_cast<std::int64_t>(row) * width + column,
                  scores()[row * kScorePitch + column]);
    }
  }

  ATTNSCOPE_DEVICE void store_value(std::int64_t place, float weight) {
    const float kept = weight < p_.maps.floor ? 0.0F : weight;
    if (p_.maps.value == CudaMapValue::f16) {
      static_cast<std::uint16_t*>(p_.maps.tiles)[place] = f16_bits(kept);
    } else {
      static_cast<std::uint32_t*>(p_.maps.tiles)[place] =
          p_.maps.value == CudaMapValue::r10 ? r10_bits(kept) : bits_of(kept);
    }
  }

  // --- End ---

  ATTNSCOPE_DEVICE std::uint32_t* cells() const { return at<std::uint32_t>(p_.shared.cells); }

  ATTNSCOPE_DEVICE void clear_cells() {
    for (int e = thread_; e < p_.shared.cell_count; e += kThreads) cells()[e] = 0;
  }

  // Cells of this tile's queries; blocks that share a row of cells raise the same ones.
  ATTNSCOPE_DEVICE void store_cells() {
    const int first_cell = cells_of(first_query_, p_.overview_rows, p_.n_queries).begin;
    std::uint32_t* const overview =
        p_.out.overview + static_cast<std::int64_t>(head_) * p_.overview_rows * p_.overview_cols;
    for (int e = thread_; e < p_.shared.cell_count; e += kThreads) {
      if (cells()[e] != 0) block_.raise(overview + first_cell * p_.overview_cols + e, cells()[e]);
    }
  }

  ATTNSCOPE_DEVICE double* partial() const { return at<double>(p_.shared.partial) + row_ * 3; }

  ATTNSCOPE_DEVICE void give_partial_sums() {
    partial()[0] = entropy_;
    partial()[1] = square_;
    partial()[2] = distance_;
  }

  ATTNSCOPE_DEVICE void store_row() {
    if (half_ == 1) {
      store_sum(CudaRowSum::first, chosen_mass_[1]);
      store_sum(CudaRowSum::previous, chosen_mass_[0]);
      store_sum(CudaRowSum::induction, static_cast<float>(matched_));
      return;
    }
    double entropy = entropy_ + partial()[0], square = square_ + partial()[1];
    float sink = 0;
    if (p_.sink != nullptr) {
      const float below = p_.sink[head_] - lse_;
      sink = Block::exp(below);
      entropy -= static_cast<double>(sink * (below < -1e4F ? -1e4F : below));
      square += static_cast<double>(sink * sink);
    }
    const bool has_mass = square != 0;
    const float none = not_a_number();
    store_sum(CudaRowSum::entropy, has_mass ? static_cast<float>(entropy) : none);
    store_sum(CudaRowSum::square, static_cast<float>(square));
    store_sum(CudaRowSum::distance, has_mass ? static_cast<float>(distance_ + partial()[2]) : none);
    store_sum(CudaRowSum::learned_sink, has_mass ? sink : none);
    store_sum(CudaRowSum::self, chosen_mass_[0]);
    store_sum(CudaRowSum::next, chosen_mass_[1]);
    store_sum(CudaRowSum::duplicate, static_cast<float>(matched_));
    store_top_keys(has_mass);
  }

  ATTNSCOPE_DEVICE void store_sum(CudaRowSum sum, float value) {
    const std::int64_t row =
        static_cast<std::int64_t>(head_) * kCudaRowSumCount + static_cast<int>(sum);
    p_.out.rows[row * p_.n_queries + query_] = value;
  }

  // Merges the lists of the row's two threads.
  ATTNSCOPE_DEVICE void store_top_keys(bool has_mass) {
    const float* const value = at<float>(p_.shared.top_value) + thread_;
    const std::int32_t* const index = at<std::int32_t>(p_.shared.top_index) + thread_;
    const std::int64_t row = static_cast<std::int64_t>(head_) * p_.n_queries + query_;
    int mine = 0, other = 0;
    for (int place = 0; place < p_.top_k; ++place) {
      const int i = mine * kThreads, j = other * kThreads + 1;
      const bool has_mine = has_mass && index[i] >= 0, has_other = has_mass && index[j] >= 0;
      const bool take_mine = has_mine && (!has_other || value[i] > value[j] ||
                                          (value[i] == value[j] && index[i] < index[j]));
      const int taken = take_mine ? i : j;
      const bool any = has_mine || has_other;
      p_.out.topk_index[row * p_.top_k + place] = any ? index[taken] : -1;
      p_.out.topk_value[row * p_.top_k + place] =
          any ? Block::exp(value[taken] - lse_) : not_a_number();
      mine += take_mine ? 1 : 0;
      other += take_mine ? 0 : 1;
    }
  }

  Block& block_;
  const StatisticsParams& p_;
  unsigned char* shared_;
  int thread_, head_, first_query_;

  // The row that this thread has one half of.
  int row_, half_, query_;
  bool is_row_;
  float lse_ = 0;
  double entropy_ = 0, square_ = 0, distance_ = 0, matched_ = 0;
  int match_ = -1;  // the next earlier key with the query's id
  int chosen_[2] = {-1, -1};
  float chosen_mass_[2] = {0, 0};
  int n_top_ = 0;
  float bar_ = 0;  // NaN while the list is not full
};

}  // namespace attnscope::cuda
