// File: tap_table.h
// Taps resolved for one run: a flat table with one entry a hook, so that an unused hook costs one
// null test. It applies interventions and edits, shows values to observers and counts.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnscope/core/row_frame.h"
#include "attnscope/core/taps.h"
#include "attnscope/kernels/attention_spec.h"
#include "attnscope/sites/site.h"

namespace attnscope {

// What one observer wants of one hook.
struct Listener {
  Observer* observer = nullptr;
  Want want;
};

// All users of one hook.
struct HookUsers {
  HookId hook;
  std::vector<std::size_t> interventions;  // indices into Taps::interventions, in order
  const EditCallback* edit = nullptr;
  std::vector<Listener> listeners;

  bool changes() const { return !interventions.empty() || edit != nullptr; }
};

// A block of finished map rows, as the runtime holds it.
struct MapBlock {
  at::Tensor values;           // [b h q' k], writable, owned by the run
  std::span<const int> heads;  // query heads of axis h
  int q_begin = 0;             // first query slot
  int q_total = 0;             // query slots of the batch
};

class TapTable {
 public:
  // `taps`, `batch` and `frames` must outlive the table. Throws Error (exit 2) for hooks that the
  // model does not have, operations that do not fit the site, and rows outside the batch.
  TapTable(const Taps& taps, const SiteInventory& inventory, const Batch& batch,
           std::span<const RowFrame> frames);

  // Null when nobody uses the hook.
  const HookUsers* users(Site site, int layer) const { return table_[index(site, layer)]; }

  // A site's value after interventions and edits; observers have seen it. The input is not written
  // to.
  at::Tensor apply(Site site, int layer, at::Tensor value);

  // Interventions on the rows of a block of scores or patterns, in place.
  void change_maps(const HookUsers& users, const MapBlock& block, const AttentionSpec& spec);
  // The edit callback on whole maps [b h q k].
  at::Tensor edit_maps(const HookUsers& users, at::Tensor maps);
  // Shows a block to the observers that want rows of it.
  void show_maps(const HookUsers& users, const MapBlock& block);

  // Throws Error (exit 2) when an intervention never fired.
  std::vector<InterventionReport> finish() const;

 private:
  struct Count {
    std::int64_t fired = 0;
    double sum_squares = 0;
  };

  std::size_t index(Site site, int layer) const {
    return static_cast<std::size_t>(site) * static_cast<std::size_t>(n_layers_ + 1) +
           static_cast<std::size_t>(layer + 1);
  }
  void add_interventions(const SiteInventory& inventory);
  void add_edits(const SiteInventory& inventory);
  void add_listeners(const SiteInventory& inventory);
  HookUsers& users_of(HookId hook);
  void change(const Intervention& intervention, std::size_t number, const at::Tensor& original,
              at::Tensor& value);
  void count(std::size_t number, const at::Tensor& before, const at::Tensor& after);

  const Taps& taps_;
  const Batch& batch_;
  std::span<const RowFrame> frames_;
  int n_layers_ = 0;
  std::vector<std::unique_ptr<HookUsers>> storage_;
  std::vector<const HookUsers*> table_;
  std::vector<Count> counts_;
};

}  // namespace attnscope
