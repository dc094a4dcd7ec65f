// File: host_copy.h
// Copies between a device and the host that no thread waits for until it needs the values.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace attnscope {

// A tensor on its way to the host.
class HostCopy {
 public:
  // The values on the host, once they are there; a tensor of the CPU is itself. Any thread may ask.
  const at::Tensor& wait() const;
  std::uint64_t bytes() const { return host_.nbytes(); }

 private:
  friend class HostCopies;
  struct Transfer;
  at::Tensor host_;
  std::shared_ptr<Transfer> transfer_;  // null for a tensor of the CPU
};

// Starts copies from one device to pinned memory. They run on a stream of their own beside what is
// computed, in the order they were started.
class HostCopies {
 public:
  explicit HostCopies(c10::Device device);
  // `value` as it is after all that its device was asked to compute so far; its memory is kept
  // until the copy is done. Contiguous on the host, unless it lay there all along.
  HostCopy start(const at::Tensor& value) const;

 private:
  c10::Device device_;
  std::optional<c10::Stream> stream_;  // none for the CPU
};

// A small table [n] int32 on `device`; the host does not wait for what is being computed there.
at::Tensor upload(const std::vector<std::int32_t>& values, c10::Device device);

}  // namespace attnscope
