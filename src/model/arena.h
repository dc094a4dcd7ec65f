// File: arena.h
// One block of memory for all weights.
#pragma once

#include <cstddef>

namespace attnscope {

// Zeroed anonymous memory aligned to 2 MiB and advised to use huge pages: filling half a gigabyte
// of small pages costs more in page faults than the copy itself.
class Arena {
 public:
  explicit Arena(std::size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace attnscope
