#include "device_memory.h"

#include <algorithm>
#include <utility>

#include "attnscope/support/text.h"
#include "estimate.h"

namespace attnscope {
namespace {

// The largest n in [0, most] that `holds`, which does not hold again once it fails.
template <typename Holds>
std::int64_t largest_that(std::int64_t most, const Holds& holds) {
  std::int64_t low = 0;
  while (low < most) {
    const std::int64_t middle = low + (most - low + 1) / 2;
    if (holds(middle)) {
      low = middle;
    } else {
      most = middle - 1;
    }
  }
  return low;
}

}  // namespace

DeviceMemory::DeviceMemory(const ModelConfig& config, const CaptureSpec& spec,
                           const CapturePlan& plan, Engine engine, std::optional<FreeMemory> free)
    : config_(config), spec_(spec), plan_(plan), engine_(engine), free_(std::move(free)) {}

std::uint64_t DeviceMemory::bytes(BatchSize batch) const {
  // Activations wait on the device until they are copied.
  const std::uint64_t waiting = plan_.layout == FileLayout::packed ? 2 : 1;
  return plan_.memory.weights + waiting * kInFlightBytes +
         activation_bytes(config_, spec_, plan_, engine_, batch.rows, batch.length);
}

std::string DeviceMemory::what_would_fit(BatchSize batch) const {
  if (!free_) return "use shorter prompts, a smaller --batch or fewer hooks";
  const std::int64_t rows = largest_that(batch.rows - 1, [&](std::int64_t n) {
    return fits({n, batch.length});
  });
  if (rows > 0) {
    return "--batch " + std::to_string(rows) + " would fit";
  }
  const std::int64_t length = largest_that(batch.length - 1, [&](std::int64_t n) {
    return fits({1, n});
  });
  if (length == 0) return "not even one token would fit: use --device cpu, or --dtype bf16";
  return "prompts of up to " + count_of(static_cast<std::uint64_t>(length), "token") +
         (batch.rows > 1 ? " with --batch 1" : "") + " would fit";
}

BatchSize DeviceMemory::largest_batch() const {
  BatchSize largest;
  std::uint64_t most = 0;
  for (const ShardPlan& shard : plan_.shards) {
    for (const BatchPlan& batch : shard.batches) {
      const BatchSize size = size_of(plan_, batch);
      if (const std::uint64_t need = bytes(size); need > most) {
        most = need;
        largest = size;
      }
    }
  }
  return largest;
}

void DeviceMemory::expect_fits() const {
  const BatchSize batch = largest_batch();
  if (!free_ || batch.rows == 0 || fits(batch)) return;
  throw Error(ErrorKind::limit, "CA22",
              {.where = "--device",
               .what = count_of(static_cast<std::uint64_t>(batch.rows), "prompt") + " of up to " +
                       count_of(static_cast<std::uint64_t>(batch.length), "token") + " need " +
                       format_bytes(bytes(batch)) + " of device memory, " +
                       format_bytes(plan_.memory.weights) + " of it for the weights",
               .expected = "at most the " + format_bytes(free_->bytes) + " that are free (" +
                           free_->source + ")",
               .next = what_would_fit(batch)});
}

void DeviceMemory::rethrow(const Error& error, BatchSize batch) const {
  if (error.kind() != ErrorKind::limit) throw error;
  ErrorDetail detail = error.detail();
  detail.what = "out of device memory with " +
                count_of(static_cast<std::uint64_t>(batch.rows), "prompt") + " of up to " +
                count_of(static_cast<std::uint64_t>(batch.length), "token");
  // An estimate that said it would fit is no guide: then half of it.
  if (!free_ || !fits(batch)) {
    detail.next = what_would_fit(batch);
  } else if (batch.rows > 1) {
    detail.next = "use --batch " + std::to_string(batch.rows / 2);
  } else {
    const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(1, batch.length / 2));
    detail.next = "use prompts of up to " + count_of(half, "token");
  }
  throw Error(ErrorKind::limit, "CA23", detail);
}

BatchSize size_of(const CapturePlan& plan, const BatchPlan& batch) {
  BatchSize size{static_cast<std::int64_t>(batch.prompts.size()), 0};
  for (const int p : batch.prompts) {
    const std::size_t tokens = plan.prompts[static_cast<std::size_t>(p)].size();
    size.length = std::max(size.length, static_cast<std::int64_t>(tokens));
  }
  return size;
}

}  // namespace attnscope
