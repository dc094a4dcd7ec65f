// File: cuda_tile_scores.h
// What both passes of a block share: 64 queries of one head against all keys that they see, in
// tiles of 64 keys, from the last tile to the first. Both make the same scores bit by bit. C++17,
// without CUDA's own words: `Block` says which thread this is, waits for the others, copies and
// adds; `Product` multiplies. The device gives both, and so do the tests on the host.
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
class TileScores {
 public:
  using Stored = typename Product::Stored;

  ATTNSCOPE_DEVICE TileScores(Block& block, const StatisticsParams& params, unsigned char* shared)
      : block_(block),
        p_(params),
        shared_(shared),
        thread_(block.thread()),
        head_(block.head()),
        first_query_((params.first_tile + block.query_tile()) * kTile),
        row_(thread_ / 2),
        half_(thread_ % 2),
        query_(first_query_ + row_),
        is_row_(query_ < params.n_queries) {}

 protected:
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

  // Tiles of keys that some query of this block sees.
  ATTNSCOPE_DEVICE Span tiles() const {
    return {visible_keys(p_, first_query_).begin / kTile,
            pieces(visible_keys(p_, last_query()).end, kTile)};
  }
  ATTNSCOPE_DEVICE int last_query() const {
    return smaller(first_query_ + kTile, p_.n_queries) - 1;
  }

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

  // q·k of the tile, which others may read after the next sync. While one slice of keys is
  // multiplied the next one is on its way.
  ATTNSCOPE_DEVICE void multiply_tile(int tile, int first_tile, int& step) {
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
  }

  // The tile has all of its queries, and each sees every key of it.
  ATTNSCOPE_DEVICE bool sees_all(int first_key) const {
    return last_query() == first_query_ + kTile - 1 &&
           visible_keys(p_, first_query_).end >= first_key + kTile &&
           visible_keys(p_, last_query()).begin <= first_key;
  }

  ATTNSCOPE_DEVICE float score_of(float product, int key) const {
    float score = product * p_.scale;
    if (p_.softcap > 0) score = p_.softcap * Block::tanh(score / p_.softcap);
    if (p_.bias != nullptr) {
      score += p_.bias[head_ * p_.bias_stride + (key - query_) + p_.bias_zero];
    }
    return score;
  }

  Block& block_;
  const StatisticsParams& p_;
  unsigned char* shared_;
  int thread_, head_, first_query_;

  // The row that this thread has one half of.
  int row_, half_, query_;
  bool is_row_;
};

}  // namespace attnscope::cuda
