#include "attnscope/core/tap_table.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnscope/core/shape_check.h"
#include "attnscope/support/error.h"
#include "intervention.h"

namespace attnscope {
namespace {

bool is_map(Site site) {
  return site == Site::attn_scores || site == Site::pattern;
}

// Vectorised kernels round by memory layout, so a copy that is laid out otherwise would change bits
// of values that nobody touched.
at::Tensor same_layout_copy(const at::Tensor& value) {
  for (std::int64_t axis = 0; axis < value.dim(); ++axis) {
    if (value.stride(axis) == 0 && value.size(axis) > 1) return value.clone();  // expanded
  }
  return at::empty_strided(value.sizes(), value.strides(), value.options()).copy_(value);
}

// Whether Intervention::heads can choose among the parts of the site.
bool has_units(const SiteInfo& info) {
  return std::string_view(info.dims).find_first_of("hgf") != std::string_view::npos;
}

[[noreturn]] void fail_use(HookId hook, const std::string& what, const std::string& expected = "") {
  throw Error(ErrorKind::input, "CO51",
              {.where = hook_name(hook), .what = what, .expected = expected});
}

void expect_hook(const SiteInventory& inventory, HookId hook) {
  if (inventory.contains(hook)) return;
  throw Error(ErrorKind::input, "CO50",
              {.where = hook_name(hook),
               .what = "this model has no such hook",
               .next = "see `attnscope inspect` for the hooks of the model"});
}

void check_operation(const Intervention& intervention) {
  const SiteInfo& info = site_info(intervention.hook.site);
  if (!info.patchable) fail_use(intervention.hook, "this site can be observed, not changed");
  const bool map = is_map(info.site);
  if (intervention.operation == Operation::minus_infinity && info.site != Site::attn_scores) {
    fail_use(intervention.hook, "minus infinity is for attention scores only");
  }
  if (intervention.operation == Operation::uniform &&
      (info.site != Site::pattern || !intervention.k_positions.empty())) {
    fail_use(intervention.hook, "uniform is for whole rows of the pattern only");
  }
  if (!map && !intervention.k_positions.empty()) {
    fail_use(intervention.hook, "only scores and pattern have key positions");
  }
  if (!intervention.heads.empty() && !has_units(info)) {
    fail_use(intervention.hook, "this site has no heads and no neurons", info.dims);
  }
}

void check_rows(const Intervention& intervention, int batch_size) {
  std::vector<int> rows = intervention.rows;
  if (intervention.operation == Operation::copy_from_row) rows.push_back(intervention.source_row);
  for (const int row : rows) {
    if (row >= 0 && row < batch_size) continue;
    fail_use(intervention.hook, "row " + std::to_string(row) + " is outside the batch",
             "0 to " + std::to_string(batch_size - 1));
  }
}

void check_want(HookId hook, const Want& want) {
  const bool map = is_map(hook.site);
  if (map && want.value) fail_use(hook, "maps come in rows: ask for maps, not for a value");
  if (!map && (want.maps || want.statistics)) fail_use(hook, "this site is no map");
  if (want.statistics && hook.site != Site::pattern) {
    fail_use(hook, "statistics are of the pattern");
  }
}

std::vector<int> rows_of(const Intervention& intervention, int batch_size) {
  if (!intervention.rows.empty()) return intervention.rows;
  std::vector<int> all(static_cast<std::size_t>(batch_size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The part of `all` that lies in [begin, begin + length), relative to begin.
AxisPart inside(const AxisPart& all, std::int64_t begin, std::int64_t length) {
  if (all.list.empty()) {
    const std::int64_t low = std::max(all.begin, begin);
    const std::int64_t high = std::min(all.begin + all.length, begin + length);
    return AxisPart::range(low - begin, std::max<std::int64_t>(0, high - low));
  }
  std::vector<std::int64_t> kept;
  for (const std::int64_t slot : all.list) {
    if (slot >= begin && slot < begin + length) kept.push_back(slot - begin);
  }
  return AxisPart::of(std::move(kept));
}

// Number of `all` before `end`.
std::int64_t count_before(const AxisPart& all, std::int64_t end) {
  return inside(all, 0, end).count();
}

AxisPart shifted(AxisPart part, std::int64_t by) {
  part.begin += by;
  for (std::int64_t& slot : part.list) slot += by;
  return part;
}

// The selection of one row of a value site: [q h d] or [q m].
Selection value_selection(const Intervention& intervention, const RowFrame& frame,
                          const at::Tensor& value, const std::string& where) {
  // A classifier's output has one position for the whole row.
  const bool pooled = intervention.hook.site == Site::logits && value.size(1) == 1;
  const AxisPart positions = pooled ? AxisPart::range(0, 1)
                                    : position_slots(intervention.q_positions, frame.q_start,
                                                     frame.first, frame.q_length, where);
  Selection selection = {positions};
  if (value.dim() == 4 || !intervention.heads.empty()) {
    selection.push_back(head_indices(intervention.heads, value.size(2), where));
  }
  return selection;
}

}  // namespace

TapTable::TapTable(const Taps& taps, const SiteInventory& inventory, const Batch& batch,
                   std::span<const RowFrame> frames)
    : taps_(taps), batch_(batch), frames_(frames), n_layers_(inventory.n_layers) {
  table_.assign(static_cast<std::size_t>(kSiteCount) * static_cast<std::size_t>(n_layers_ + 1),
                nullptr);
  counts_.resize(taps.interventions.size());
  add_interventions(inventory);
  add_edits(inventory);
  add_listeners(inventory);
}

HookUsers& TapTable::users_of(HookId hook) {
  const HookUsers*& entry = table_[index(hook.site, hook.layer)];
  if (entry == nullptr) {
    storage_.push_back(std::make_unique<HookUsers>());
    storage_.back()->hook = hook;
    entry = storage_.back().get();
  }
  return const_cast<HookUsers&>(*entry);
}

void TapTable::add_interventions(const SiteInventory& inventory) {
  for (std::size_t i = 0; i < taps_.interventions.size(); ++i) {
    const Intervention& intervention = taps_.interventions[i];
    expect_hook(inventory, intervention.hook);
    check_operation(intervention);
    check_rows(intervention, batch_.size());
    users_of(intervention.hook).interventions.push_back(i);
  }
}

void TapTable::add_edits(const SiteInventory& inventory) {
  for (const auto& [hook, callback] : taps_.edits) {
    expect_hook(inventory, hook);
    if (!site_info(hook.site).patchable) fail_use(hook, "this site can be observed, not changed");
    users_of(hook).edit = &callback;
  }
}

void TapTable::add_listeners(const SiteInventory& inventory) {
  for (Observer* observer : taps_.observers) {
    for (const HookId hook : inventory.hooks) {
      Want want = observer->want(hook);
      if (!want.value && !want.maps && !want.statistics) continue;
      check_want(hook, want);
      users_of(hook).listeners.push_back({observer, std::move(want)});
    }
  }
}

at::Tensor TapTable::apply(Site site, int layer, at::Tensor value) {
  const HookUsers* users = this->users(site, layer);
  if (users == nullptr) return value;
  if (!users->interventions.empty()) {
    const at::Tensor original = value;
    value = same_layout_copy(value);
    for (const std::size_t number : users->interventions) {
      change(taps_.interventions[number], number, original, value);
    }
  }
  if (users->edit != nullptr) {
    at::Tensor edited = (*users->edit)(users->hook, value, batch_);
    expect_like(edited, hook_name(users->hook), value, site_info(site).dims);
    value = std::move(edited);
  }
  for (const Listener& listener : users->listeners) {
    if (listener.want.value) listener.observer->on_value(users->hook, value, batch_);
  }
  return value;
}

void TapTable::change(const Intervention& intervention, std::size_t number,
                      const at::Tensor& original, at::Tensor& value) {
  const Target target = {.original = original,
                         .value = value,
                         .site_shape = value.sizes().vec(),
                         .name = hook_name(intervention.hook)};
  const std::vector<int> rows = rows_of(intervention, batch_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto frame_of = [this](int row) { return frames_[static_cast<std::size_t>(row)]; };
    RowPart part;
    part.row = rows[i];
    part.ordinal = static_cast<int>(i);
    part.in_target = value_selection(intervention, frame_of(part.row), value, target.name);
    part.in_site = part.in_target;
    if (intervention.operation == Operation::copy_from_row) {
      part.in_source_row =
          value_selection(intervention, frame_of(intervention.source_row), value, target.name);
    }
    const at::Tensor row = value.select(0, part.row);
    const at::Tensor old = read_part(row, part.in_target).clone();
    const at::Tensor changed = changed_part(intervention, target, part, old);
    write_part(row, part.in_target, changed);
    ++counts_[number].fired;
    count(number, old, changed);
  }
}

void TapTable::change_maps(const HookUsers& users, const MapBlock& block,
                           const AttentionSpec& spec) {
  if (users.interventions.empty()) return;
  const at::Tensor& values = block.values;
  const std::int64_t n_queries = values.size(2);
  const std::string name = hook_name(users.hook);
  const bool copies = std::any_of(
      users.interventions.begin(), users.interventions.end(), [this](std::size_t number) {
        return taps_.interventions[number].operation == Operation::copy_from_row;
      });
  const Target target = {
      .original = copies ? values.clone() : values,
      .value = values,
      .site_shape = {values.size(0), values.size(1), block.q_total, values.size(3)},
      .name = name};
  for (const std::size_t number : users.interventions) {
    const Intervention& intervention = taps_.interventions[number];
    const std::vector<int> rows = rows_of(intervention, batch_.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const RowFrame& frame = frames_[static_cast<std::size_t>(rows[i])];
      const AxisPart queries = position_slots(intervention.q_positions, frame.q_start, frame.first,
                                              frame.q_length, name);
      RowPart part;
      part.row = rows[i];
      part.ordinal = static_cast<int>(i);
      part.q_selected = queries.count();
      part.q_before = count_before(queries, block.q_begin);
      const AxisPart in_block = inside(queries, block.q_begin, n_queries);
      if (in_block.count() == 0) continue;
      const AxisPart heads = head_indices(intervention.heads, values.size(1), name);
      const auto keys_of = [&](const RowFrame& of) {
        if (intervention.operation == Operation::uniform) {
          return AxisPart::range(0, values.size(3));
        }
        return position_slots(intervention.k_positions, of.k_start, 0, of.k_length, name);
      };
      part.in_target = {heads, in_block, keys_of(frame)};
      part.in_site = {heads, shifted(in_block, block.q_begin), keys_of(frame)};
      if (intervention.operation == Operation::copy_from_row) {
        const RowFrame& source = frames_[static_cast<std::size_t>(intervention.source_row)];
        const AxisPart source_queries = position_slots(intervention.q_positions, source.q_start,
                                                       source.first, source.q_length, name);
        part.in_source_row = {heads, inside(source_queries, block.q_begin, n_queries),
                              keys_of(source)};
      }
      const at::Tensor row = values.select(0, part.row);
      const at::Tensor old = read_part(row, part.in_target).clone();
      const at::Tensor changed =
          intervention.operation == Operation::uniform
              ? uniform_rows(in_block, block.q_begin, frame, spec, values).expand_as(old)
              : changed_part(intervention, target, part, old);
      write_part(row, part.in_target, changed);
      if (part.q_before == 0) ++counts_[number].fired;
      count(number, old, changed);
    }
  }
}

at::Tensor TapTable::edit_maps(const HookUsers& users, at::Tensor maps) {
  if (users.edit == nullptr) return maps;
  at::Tensor edited = (*users.edit)(users.hook, maps, batch_);
  expect_like(edited, hook_name(users.hook), maps, site_info(users.hook.site).dims);
  return edited;
}

void TapTable::show_maps(const HookUsers& users, const MapBlock& block) {
  const auto rows = static_cast<int>(block.values.size(2));
  for (const Listener& listener : users.listeners) {
    if (!listener.want.maps) continue;
    const int wanted_end = listener.want.q_end < 0 ? block.q_total : listener.want.q_end;
    const int begin = std::max(block.q_begin, listener.want.q_begin);
    const int end = std::min(block.q_begin + rows, wanted_end);
    if (begin >= end) continue;
    at::Tensor values = block.values.narrow(2, begin - block.q_begin, end - begin);
    std::span<const int> heads = block.heads;
    std::vector<std::int64_t> places;
    if (!listener.want.heads.empty()) {
      for (const int head : listener.want.heads) {
        const auto found = std::find(block.heads.begin(), block.heads.end(), head);
        if (found == block.heads.end()) {
          fail_use(users.hook, "head " + std::to_string(head) + " does not exist");
        }
        places.push_back(found - block.heads.begin());
      }
      // A part is a copy, which those who want all that was made do without.
      const bool all =
          std::is_sorted(places.begin(), places.end()) && places.size() == block.heads.size();
      if (!all)
        values = read_part(values, {AxisPart::range(0, values.size(0)), AxisPart::of(places)});
      heads = listener.want.heads;
    }
    listener.observer->on_map_rows(users.hook, {values, heads, begin}, batch_);
  }
}

void TapTable::count(std::size_t number, const at::Tensor& before, const at::Tensor& after) {
  const c10::NoGradGuard no_grad;
  const at::Tensor change =
      at::where(before == after, at::zeros_like(before), after - before).to(at::kDouble);
  counts_[number].sum_squares += change.square().sum().item<double>();
}

std::vector<InterventionReport> TapTable::finish() const {
  std::vector<InterventionReport> reports;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i].fired == 0) {
      throw Error(ErrorKind::input, "CO55",
                  {.where = hook_name(taps_.interventions[i].hook),
                   .what = "intervention " + std::to_string(i) + " never fired",
                   .next = "the run did not reach this site, or its rows are empty"});
    }
    reports.push_back({static_cast<int>(counts_[i].fired), std::sqrt(counts_[i].sum_squares)});
  }
  return reports;
}

}  // namespace attnscope
