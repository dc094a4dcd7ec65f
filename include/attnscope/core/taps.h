// File: taps.h
// How a run is observed and changed. A Taps value belongs to one run; nothing is attached to the
// model and nothing is left to reset.
//
// Order at every site: interventions in their order, then callbacks, then observers, which see the
// changed value and cannot write.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "attnscope/core/batch.h"
#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/sites/site.h"

namespace attnscope {

// What an observer asks of one hook, before the layer runs. The runtime makes explicit only what
// somebody wants; the rest stays fused.
struct Want {
  bool value = false;       // any site but scores and pattern: the whole tensor
  bool statistics = false;  // pattern only: exact statistics of every head
  bool maps = false;        // scores and pattern only: rows of the map
  std::vector<int> heads;   // maps: query heads; empty = all
  int q_begin = 0;          // maps: first query position (of the padded batch)
  int q_end = -1;           // maps: end, −1 = all
  int top_k = 8;            // statistics: keys kept a row; the largest of all observers holds

  static Want nothing() { return {}; }
  static Want whole_value() { return {.value = true}; }
  static Want all_maps() { return {.maps = true}; }
};

// Some rows of the maps of one layer: finished values in query order, at most 128 queries a call
// and 256 from tiles on the CPU.
// All keys of the batch are there: keys that a query does not see hold 0 (pattern) or −inf
// (scores). Rows of pads hold no meaning.
struct MapRows {
  at::Tensor values;           // [b h' q' k]; float32, or float64 in a float64 run
  std::span<const int> heads;  // query heads, h' of them
  int q_begin = 0;             // first query of the padded batch
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Asked once for every hook of the model before the run starts.
  virtual Want want(HookId hook) const = 0;
  // The tensor may be strided and is valid during the call only, unless the observer keeps a
  // reference; it must not write to it. Pads are in it: use unpadded().
  virtual void on_value(HookId hook, const at::Tensor& value, const Batch& batch);
  virtual void on_map_rows(HookId hook, const MapRows& rows, const Batch& batch);
  // One call a layer; `rows[b]` belongs to batch row b, without pads.
  virtual void on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                             const Batch& batch);
};

enum class Operation {
  set,             // value := `value`
  zero,            // value := 0
  add,             // value += `value`
  scale,           // value *= `factor`
  copy_from_row,   // value := the same place of batch row `source_row`, as it is before any change
  minus_infinity,  // attention scores := −inf (edge knockout)
  uniform,         // pattern rows := 1/(visible keys) on the visible keys
};

// An intervention is data. Positions are those of the unpadded row; −1 is the last. Empty lists
// mean all. `heads` counts query heads at sites with h, kv heads at sites with g and neurons at
// sites with f.
struct Intervention {
  HookId hook;
  Operation operation = Operation::zero;
  std::vector<int> rows;
  std::vector<int> heads;
  std::vector<int> q_positions;
  std::vector<int> k_positions;  // scores and pattern only
  at::Tensor value;              // broadcast to the selected part
  double factor = 1;
  int source_row = 0;
};

// How often an intervention fired and how much it changed; one that never fires is an error.
struct InterventionReport {
  int fired = 0;           // rows × calls
  double change_norm = 0;  // L2 norm of new − old over everything it touched
};

// The escape hatch: must return the same shape, dtype and device (checked).
using EditCallback = std::function<at::Tensor(HookId, const at::Tensor&, const Batch&)>;

struct Taps {
  std::vector<Intervention> interventions;
  std::map<HookId, EditCallback> edits;
  std::vector<Observer*> observers;  // not owned
};

}  // namespace attnscope
