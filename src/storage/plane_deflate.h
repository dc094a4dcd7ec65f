// File: plane_deflate.h
// A deflater for shuffled floats: runs, and Huffman codes of each byte plane's own.
//
// The bytes of a plane are noise around a few frequent values, between runs of one value (masked
// keys, weights that are 0). The search for earlier matches, which is what takes a general
// deflater's time, finds little but those runs; so this one looks for nothing else. Its output is
// an ordinary zlib stream (RFC 1950, RFC 1951) whose only distance is 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bit_writer.h"

namespace attnscope::storage_detail {

// Holds working memory between calls.
class PlaneDeflater {
 public:
  // `data`, cut into planes of `plane_bytes` (the last may be shorter), each a block of its own, as
  // one zlib stream. The result depends on the two arguments only, on every machine, and is valid
  // until the next call. It is longer than `data` by 6 bytes, and 6 for each plane and each 64 KiB,
  // at most.
  std::span<const std::byte> deflate(std::span<const std::byte> data, std::size_t plane_bytes);

 private:
  using Bytes = std::span<const unsigned char>;
  struct Run {
    std::size_t begin, length;
  };

  void find_runs(Bytes plane);
  void write_plane(Bytes plane, bool last, BitWriter& out);
  // Calls gap(bytes) and run(length) in turn, in the order of the plane; gaps may be empty.
  template <typename Gap, typename OneRun>
  void walk(Bytes plane, Gap gap, OneRun run) const;

  std::vector<Run> runs_;  // of the plane at hand
  std::vector<std::byte> out_;
};

}  // namespace attnscope::storage_detail
