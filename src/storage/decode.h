// File: decode.h
// Stored chunks back to values, without the HDF5 library, so that several threads can do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace attnscope::storage_detail {

// Undoes the filters shuffle and deflate. One object a thread.
class ChunkDecoder {
 public:
  ChunkDecoder();
  ~ChunkDecoder();
  ChunkDecoder(const ChunkDecoder&) = delete;
  ChunkDecoder& operator=(const ChunkDecoder&) = delete;

  // Fills `out`, a whole chunk of values of `value_bytes` bytes. False if the stored bytes are not
  // exactly that: damaged, too short or too long. Bit i of `filter_mask`: filter i was not applied.
  bool decode(std::span<const std::byte> stored, std::uint32_t filter_mask, std::size_t value_bytes,
              std::span<std::byte> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attnscope::storage_detail
