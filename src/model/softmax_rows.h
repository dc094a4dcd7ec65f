// File: softmax_rows.h
// Softmax of rows of scores in place, for float and double on the CPU. Compiled for several
// instruction sets; the one that fits the processor is picked when the program starts.
#pragma once

namespace attnscope {

// One row of scores that becomes a row of the pattern.
template <typename T>
struct SoftmaxRow {
  T* values = nullptr;
  int begin = 0;  // keys [begin, end) take part; −inf among them stays out
  int end = 0;
  double mix = 1;           // pattern = mix·softmax + (1 − mix) on the keys that are not −inf
  const T* sink = nullptr;  // learned sink logit in the denominator, or null
};

template <typename T>
struct SoftmaxSums {
  T lse{};        // log-sum-exp of the scores, the sink included; −inf when nothing is visible
  T sink_mass{};  // weight on the sink
};

// A row without a visible key becomes 0.
SoftmaxSums<float> softmax_row(const SoftmaxRow<float>& row);
SoftmaxSums<double> softmax_row(const SoftmaxRow<double>& row);

}  // namespace attnscope
