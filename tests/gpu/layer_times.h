// File: layer_times.h
// Times of one layer's causal attention on the device: LibTorch's fused pass, the statistics pass,
// and tiles on the CPU beside them.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>

namespace attnscope {

// The median of some runs of what `work` puts on the default stream, in milliseconds, after runs
// that warm up. Ends the program if the device fails.
double device_milliseconds(const std::function<void()>& work);

struct LayerShape {
  int n = 0;  // queries and keys
  int n_heads = 0;
  int d_head = 0;
  at::ScalarType type = at::kFloat;  // float32 or bfloat16
};

struct LayerTimes {
  double fused_ms = 0;                // scaled dot product attention of LibTorch, no statistics
  double statistics_ms = 0;           // every statistic and top-8 from q, k and the log-sum-exp
  double maps_ms = 0;                 // the same and the tiles of one head's map
  std::int64_t fused_peak_bytes = 0;  // of the device, beyond q, k and v
  std::int64_t statistics_bytes = 0;  // of the statistics pass's arrays
  std::optional<double> cpu_ms;       // float32 tiles with the same statistics on all cores
};

enum class CpuBeside { off, on };
LayerTimes time_layer(const LayerShape& shape, CpuBeside cpu);

// Score elements that a causal layer has.
double causal_elements(const LayerShape& shape);

// Device memory: bytes allocated at most since the last call, and forgets them.
std::int64_t take_peak_bytes();
std::int64_t bytes_in_use();

}  // namespace attnscope
