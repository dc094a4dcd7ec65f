// File: cuda_statistics_body.h
// The statistics pass of one block (cuda_tile_scores.h). It begins with the last tile because most
// heads look near, so that the top keys come early. C++17.
//
// A tile goes through three phases with a sync between them:
//   1. all threads: scores of the tile, slice by slice of d
//   2. two threads a row: weights, sums over the row, top keys
//   3. two threads a column: key sums, largest weights; masses at chosen keys; stored maps
#pragma once

#include "cuda_tile_scores.h"

namespace attnscope::cuda {

template <class Block, class Product>
class StatisticsPass : private TileScores<Block, Product> {
  using Base = TileScores<Block, Product>;

 public:
  ATTNSCOPE_DEVICE StatisticsPass(Block& block, const StatisticsParams& params,
                                  unsigned char* shared)
      : Base(block, params, shared) {}

  ATTNSCOPE_DEVICE void run() {
    const Span tiles = this->tiles();
    begin_row();
    clear_cells();
    this->load_queries();
    this->load_keys((tiles.end - 1) * kTile, 0, 0);
    int step = 0;
    for (int tile = tiles.end - 1; tile >= tiles.begin; --tile) {
      const int first_key = tile * kTile;
      this->multiply_tile(tile, tiles.begin, step);
      load_chain(first_key);
      block_.sync(Sync::scores);
      if (this->sees_all(first_key)) {
        reduce_rows<Visible::all>(first_key);
      } else {
        reduce_rows<Visible::some>(first_key);
      }
      block_.sync(Sync::weights);
      reduce_columns(first_key);
      add_chosen_keys(first_key);
      store_map(first_key);
    }
    if (half_ == 1) give_partial_sums();
    block_.sync(Sync::finished);
    store_cells();
    if (is_row_) store_row();
  }

 private:
  using Base::block_, Base::p_, Base::thread_, Base::head_, Base::first_query_;
  using Base::row_, Base::half_, Base::query_, Base::is_row_;
  using Base::scores, Base::score_of, Base::last_query;

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

  ATTNSCOPE_DEVICE float& top_value(int place) {
    return this->template at<float>(p_.shared.top_value)[place * kThreads + thread_];
  }
  ATTNSCOPE_DEVICE std::int32_t& top_index(int place) {
    return this->template at<std::int32_t>(p_.shared.top_index)[place * kThreads + thread_];
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
  ATTNSCOPE_DEVICE void reduce_columns(int first_key) {
    const int column = thread_ % kTile, first_row = thread_ / kTile * 32;
    const int key = first_key + column;
    if (key >= p_.n_keys) return;
    const float* const weights = scores() + column;
    float sum = 0;
    for (int r = first_row; r < first_row + 32; ++r) sum += weights[r * kScorePitch];
    add_to_key(key, sum);

    const int end_row = smaller(first_row + 32, last_query() + 1 - first_query_);
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
    this->template at<std::int32_t>(p_.shared.chain)[thread_] = previous;
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
    const std::int32_t* const chain = this->template at<std::int32_t>(p_.shared.chain);
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
    const std::int64_t tile = slot * p_.tiles_per_map + map_tiles_before(p_, tile_row) -
                              p_.tiles_before + tile_column - map_columns(p_, tile_row).begin;
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

  ATTNSCOPE_DEVICE std::uint32_t* cells() const {
    return this->template at<std::uint32_t>(p_.shared.cells);
  }

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

  ATTNSCOPE_DEVICE double* partial() const {
    return this->template at<double>(p_.shared.partial) + row_ * 3;
  }

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
    const float* const value = this->template at<float>(p_.shared.top_value) + thread_;
    const std::int32_t* const index =
        this->template at<std::int32_t>(p_.shared.top_index) + thread_;
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

  // Of the row that this thread has one half of.
  float lse_ = 0;
  double entropy_ = 0, square_ = 0, distance_ = 0, matched_ = 0;
  int match_ = -1;  // the next earlier key with the query's id
  int chosen_[2] = {-1, -1};
  float chosen_mass_[2] = {0, 0};
  int n_top_ = 0;
  float bar_ = 0;  // NaN while the list is not full
};

}  // namespace attnscope::cuda
