#include "weight_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include "attnscope/core/tensor_convert.h"

namespace attnscope {
namespace {

// Values converted at a time: small enough to stay in the cache, and below the size from which
// LibTorch would start threads of its own.
constexpr std::int64_t kBlock = 16384;

// A float is NaN or infinite when its exponent bits are all set. Integer tests over a block
// vectorise, which isfinite() does not.
template <typename Bits>
bool any_with_exponent(const Bits* values, std::int64_t count, Bits exponent) {
  Bits found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    found = static_cast<Bits>(found | ((values[i] & exponent) == exponent ? Bits{1} : Bits{0}));
  }
  return found != 0;
}

template <typename Bits>
FirstNonFinite first_with_exponent(const void* data, std::int64_t count, Bits exponent) {
  const auto* values = static_cast<const Bits*>(data);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t length = std::min(kBlock, count - begin);
    if (!any_with_exponent(values + begin, length, exponent)) continue;
    for (std::int64_t i = begin;; ++i) {
      if ((values[i] & exponent) == exponent) return i;
    }
  }
  return std::nullopt;
}

at::Tensor blob(void* data, std::int64_t count, at::ScalarType type) {
  return at::from_blob(data, {count}, at::TensorOptions(type));
}

// Other types are converted block by block, so that no tensor is held twice.
void read_and_convert(const TensorSource& source, const TensorInfo& info, at::Tensor place) {
  const auto stored_size = static_cast<std::int64_t>(dtype_size(info.dtype));
  char* const begin = static_cast<char*>(place.mutable_data_ptr());
  std::vector<char> block(static_cast<std::size_t>(kBlock * stored_size));
  for (std::int64_t i = 0; i < place.numel(); i += kBlock) {
    const std::int64_t count = std::min(kBlock, place.numel() - i);
    source.read_part(info, static_cast<std::uint64_t>(i * stored_size), block.data(),
                     static_cast<std::uint64_t>(count * stored_size));
    blob(begin + i * place.element_size(), count, place.scalar_type())
        .copy_(blob(block.data(), count, scalar_type(info.dtype)));
  }
}

void read_values(const TensorSource& source, const TensorInfo& info, at::Tensor place) {
  if (scalar_type(info.dtype) == place.scalar_type()) {
    source.read(info, place.mutable_data_ptr(), info.bytes);
  } else {
    read_and_convert(source, info, place);
  }
}

FirstNonFinite read_task(const TensorSource& source, const ReadTask& task) {
  if (task.place.numel() == 0) return std::nullopt;
  if (task.axes.empty()) {
    read_values(source, *task.info, task.place);
    return first_non_finite(task.place);
  }
  const at::Tensor stored = at::empty(task.info->shape, task.place.options());
  read_values(source, *task.info, stored);
  const at::Tensor permuted = stored.permute(task.axes);
  task.place.view(permuted.sizes()).copy_(permuted);
  return first_non_finite(stored);
}

// Tasks in the order of the file, so that the reads are sequential.
std::vector<std::size_t> file_order(const TensorSource& source,
                                    const std::vector<ReadTask>& tasks) {
  std::map<const TensorInfo*, std::size_t> place_in_file;
  for (const TensorInfo& info : source.tensors()) {
    place_in_file.emplace(&info, place_in_file.size());
  }
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return place_in_file[tasks[a].info] < place_in_file[tasks[b].info];
  });
  return order;
}

}  // namespace

FirstNonFinite first_non_finite(const at::Tensor& tensor) {
  const void* data = tensor.const_data_ptr();
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return first_with_exponent<std::uint32_t>(data, tensor.numel(), 0x7f800000u);
    case at::kDouble:
      return first_with_exponent<std::uint64_t>(data, tensor.numel(), 0x7ff0000000000000u);
    case at::kBFloat16:
      return first_with_exponent<std::uint16_t>(data, tensor.numel(), 0x7f80u);
    case at::kHalf:
      return first_with_exponent<std::uint16_t>(data, tensor.numel(), 0x7c00u);
    default:
      return std::nullopt;
  }
}

std::vector<FirstNonFinite> read_tensors(const TensorSource& source, std::vector<ReadTask>& tasks,
                                         int threads) {
  const std::vector<std::size_t> order = file_order(source, tasks);
  std::vector<FirstNonFinite> found(tasks.size());
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < order.size(); i = next++) {
        found[order[i]] = read_task(source, tasks[order[i]]);
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = order.size();
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // Those that started, and this one, do it all.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
  return found;
}

bool same_values(const TensorSource& source, const TensorInfo& a, const TensorInfo& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;
  std::vector<char> left(kBytes);
  std::vector<char> right(kBytes);
  for (std::uint64_t offset = 0; offset < a.bytes; offset += kBytes) {
    const std::uint64_t count = std::min(kBytes, a.bytes - offset);
    source.read_part(a, offset, left.data(), count);
    source.read_part(b, offset, right.data(), count);
    if (std::memcmp(left.data(), right.data(), count) != 0) return false;
  }
  return true;
}

}  // namespace attnscope
