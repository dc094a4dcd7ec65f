// File: cuda_lse_body.h
// The first pass of one block (cuda_tile_scores.h): the log-sum-exp of each row, from the scores
// that the statistics pass makes again. Two threads a row keep the largest score so far and the sum
// of e^(score − largest) (Milakov & Gimelshein 2018), each of its half, in a fixed order. C++17.
#pragma once

#include "cuda_tile_scores.h"

namespace attnscope::cuda {

template <class Block, class Product>
class LsePass : private TileScores<Block, Product> {
  using Base = TileScores<Block, Product>;

 public:
  ATTNSCOPE_DEVICE LsePass(Block& block, const StatisticsParams& params, unsigned char* shared)
      : Base(block, params, shared) {}

  ATTNSCOPE_DEVICE void run() {
    const Span tiles = this->tiles();
    this->load_queries();
    this->load_keys((tiles.end - 1) * kTile, 0, 0);
    int step = 0;
    for (int tile = tiles.end - 1; tile >= tiles.begin; --tile) {
      const int first_key = tile * kTile;
      this->multiply_tile(tile, tiles.begin, step);
      block_.sync(Sync::scores);
      if (this->sees_all(first_key)) {
        add_row<Visible::all>(first_key);
      } else {
        add_row<Visible::some>(first_key);
      }
    }
    if (half_ == 1) give_half();
    block_.sync(Sync::finished);
    if (half_ == 0 && is_row_) store_row();
  }

 private:
  using Base::block_, Base::p_, Base::head_, Base::row_, Base::half_, Base::query_, Base::is_row_;
  using Base::scores, Base::score_of;

  // Calls function(four scores, first column) for this thread's half of its row.
  template <class Function>
  ATTNSCOPE_DEVICE void for_each_four(Function&& function) {
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < 16; i += 4) {
        const int column = part * 32 + half_ * 16 + i;
        function(*reinterpret_cast<Four*>(scores() + row_ * kScorePitch + column), column);
      }
    }
  }

  // The tile's products become scores, −inf where the query does not see the key; then they are
  // added. A thread reads and writes its own values only.
  template <Visible kVisible>
  ATTNSCOPE_DEVICE void add_row(int first_key) {
    const Span visible = is_row_ ? visible_keys(p_, query_) : Span{};
    float largest = largest_;
    for_each_four([&](Four& four, int column) {
      Four made = four;
      ATTNSCOPE_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int key = first_key + column + e;
        const bool sees = kVisible == Visible::all || (key >= visible.begin && key < visible.end);
        const float score = sees ? score_of(made.x[e], key) : -infinity();
        if (score > largest) largest = score;
        made.x[e] = score;
      }
      four = made;
    });
    const float base = finite(largest);
    float sum = 0;
    for_each_four([&](Four& four, int) {
      const Four made = four;
      ATTNSCOPE_UNROLL
      for (int e = 0; e < 4; ++e) sum += Block::exp(made.x[e] - base);
    });
    sum_ = sum_ * static_cast<double>(Block::exp(largest_ - base)) + static_cast<double>(sum);
    largest_ = largest;
  }

  // What is subtracted of scores: −inf less −inf would be NaN.
  ATTNSCOPE_DEVICE static float finite(float largest) {
    return largest == -infinity() ? 0.0F : largest;
  }

  ATTNSCOPE_DEVICE double* half() const {
    return this->template at<double>(p_.shared.partial) + row_ * 2;
  }

  ATTNSCOPE_DEVICE void give_half() {
    half()[0] = static_cast<double>(largest_);
    half()[1] = sum_;
  }

  ATTNSCOPE_DEVICE void store_row() {
    const float other = static_cast<float>(half()[0]);
    const float sink = p_.sink != nullptr ? p_.sink[head_] : -infinity();
    float largest = largest_ > other ? largest_ : other;
    if (sink > largest) largest = sink;
    const float base = finite(largest);
    const double sum = sum_ * static_cast<double>(Block::exp(largest_ - base)) +
                       half()[1] * static_cast<double>(Block::exp(other - base)) +
                       static_cast<double>(Block::exp(sink - base));
    p_.lse_out[head_ * p_.lse_stride + query_] = base + Block::log(static_cast<float>(sum));
  }

  // Of the row that this thread has one half of.
  float largest_ = -infinity();
  double sum_ = 0;
};

}  // namespace attnscope::cuda
