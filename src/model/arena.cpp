#include "arena.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace attnscope {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Arena::Arena(std::size_t bytes) : bytes_(bytes) {
  mapped_bytes_ = bytes + 2 * kHugePage;
  mapping_ =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  const std::size_t skip = (kHugePage - address % kHugePage) % kHugePage;
  data_ = static_cast<char*>(mapping_) + skip;
  // Advice only: without huge pages everything works, slower.
  madvise(data_, bytes_, MADV_HUGEPAGE);
}

Arena::~Arena() {
  munmap(mapping_, mapped_bytes_);
}

}  // namespace attnscope
