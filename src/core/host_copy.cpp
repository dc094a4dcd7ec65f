#include "attnscope/core/host_copy.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace attnscope {

// Ends with the copy at the latest: until then the device reads and writes the memory of both ends.
struct HostCopy::Transfer {
  Transfer(at::Tensor tensor, c10::DeviceType type) : source(std::move(tensor)), done(type) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    try {
      done.synchronize();
    } catch (...) {  // a lost device copies nothing any more
    }
  }

  at::Tensor source;
  c10::Event done;
};

const at::Tensor& HostCopy::wait() const {
  if (transfer_ != nullptr) transfer_->done.synchronize();
  return host_;
}

HostCopies::HostCopies(c10::Device device) : device_(device) {
  if (device.is_cpu()) return;
  stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

HostCopy HostCopies::start(const at::Tensor& value) const {
  HostCopy copy;
  if (!stream_) {
    copy.host_ = value;
    return copy;
  }
  const at::Tensor source = value.contiguous();
  const c10::impl::VirtualGuardImpl streams(device_.type());
  c10::Event computed(device_.type());
  computed.record(streams.getStream(device_));
  computed.block(*stream_);
  copy.host_ = at::empty(source.sizes(), source.options().device(at::kCPU).pinned_memory(true));
  copy.transfer_ = std::make_shared<HostCopy::Transfer>(source, device_.type());
  {
    const c10::StreamGuard guard(*stream_);
    copy.host_.copy_(source, /*non_blocking=*/true);
  }
  copy.transfer_->done.record(*stream_);
  return copy;
}

at::Tensor upload(const std::vector<std::int32_t>& values, c10::Device device) {
  const at::Tensor host = at::tensor(values, at::kInt);
  if (device.is_cpu()) return host;
  return host.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace attnscope
