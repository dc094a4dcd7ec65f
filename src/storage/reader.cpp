#include "attnscope/storage/reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "guard.h"
#include "reader_state.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

constexpr std::array<const char*, 7> kTableNames{
    "head_stats", "row_stats", "topk_index", "topk_value", "key_sum", "value_norm", "overview"};

// Place of a hook in the forward pass.
auto order(HookId hook) {
  const bool encoder = hook.stack == Stack::encoder;
  const int last = std::numeric_limits<int>::max();
  const int layer = hook.layer >= 0 ? hook.layer : hook.site <= Site::pos_embed ? -1 : last;
  return std::tuple(encoder ? 0 : 1, layer, hook.stack == Stack::cross ? 1 : 0, hook.site);
}

RowSum parse_row_sum(const std::string& name) {
  if (name == "one") return RowSum::one;
  return name == "sink" ? RowSum::sink : RowSum::free;
}

MapSpec read_map_spec(const h5::Dataset& dataset, Site site) {
  const h5::Dims dims = dataset.dims();
  MapSpec spec{.kind = site == Site::attn_scores ? MapKind::scores : MapKind::pattern};
  spec.heads = static_cast<std::int64_t>(dims[0]);
  spec.queries = static_cast<std::int64_t>(dims[1]);
  spec.keys = static_cast<std::int64_t>(dims[2]);
  spec.subset = read_subset(dataset);
  spec.causal = dataset.integer("causal").value_or(0) != 0;
  spec.window = dataset.integer("window").value_or(0);
  const std::string dtype = dataset.text("map_dtype").value_or("f32");
  spec.dtype = dtype == "r10" ? MapDType::r10 : dtype == "f16" ? MapDType::f16 : MapDType::f32;
  spec.floor = dataset.number("floor").value_or(0) > 0 ? Floor::on : Floor::off;
  spec.row_sum = parse_row_sum(dataset.text("row_sum").value_or("free"));
  return spec;
}

}  // namespace

bool storage_detail::comes_before(HookId a, HookId b) {
  return order(a) < order(b);
}

const char* attention_table_name(AttentionTable table) {
  return kTableNames[static_cast<std::size_t>(table)];
}

void CaptureReader::State::fail(const std::string& object, const std::string& what,
                                const std::string& expected, const std::string& got) const {
  throw Error(ErrorKind::input, "SR01",
              {.where = escape_untrusted(path, 4096),
               .what = (object.empty() ? "" : quote(object, 300) + ": ") + what,
               .expected = expected,
               .got = got});
}

void CaptureReader::State::read_header() {
  const std::string schema = root->text("schema").value_or("");
  const auto version = root->integers("schema_version");
  if (schema.rfind("attnscope/", 0) != 0) {
    fail("", "no attnscope file", std::string("root attribute schema = \"") + kSchemaName + "\"",
         schema.empty() ? "none" : quote(schema));
  }
  if (schema != kSchemaName || version.size() != 2 || version[0] != kSchemaVersion[0]) {
    throw Error(ErrorKind::input, "SR02",
                {.where = escape_untrusted(path, 4096),
                 .what = "written by a newer version of attnscope",
                 .expected = kSchemaName,
                 .got = quote(schema),
                 .next = "update attnscope"});
  }
  const std::string kind = root->text("kind").value_or("");
  const auto known = parse_file_kind(kind);
  if (!known) fail("", "unknown kind of file", "capture, ablate, patch …", quote(kind));
  info = {.kind = *known,
          .run_id = root->text("run_id").value_or(""),
          .tool_version = root->text("tool_version").value_or(""),
          .git_commit = root->text("git_commit").value_or("")};
  if (const auto shard = root->integers("shard"); shard.size() == 2) {
    info.shard = ShardId{static_cast<int>(shard[0]), static_cast<int>(shard[1])};
  }
}

void CaptureReader::State::read_layout() {
  if (root->text("layout").value_or("") == "packed") {
    layout = FileLayout::packed;
    if (!root->has("offsets")) fail("/offsets", "missing", "a dataset", "nothing");
    offsets = read_integers(root->open_dataset("offsets"));
    if (offsets.empty() || offsets.front() != 0 ||
        !std::is_sorted(offsets.begin(), offsets.end())) {
      fail("/offsets", "not ascending from 0", "[P+1] ascending", "another order");
    }
    row_offsets =
        root->has("packed/offsets") ? read_integers(root->open_dataset("packed/offsets")) : offsets;
    if (row_offsets.size() != offsets.size() || row_offsets.front() != 0 ||
        !std::is_sorted(row_offsets.begin(), row_offsets.end())) {
      fail("/packed/offsets", "not ascending from 0", "[P+1] ascending", "another order");
    }
    prompts = static_cast<int>(offsets.size()) - 1;
    return;
  }
  if (!root->has("prompts")) return;
  const h5::Group group = root->open_group("prompts");
  while (group.has(prompt_group_name(prompts))) ++prompts;
}

void CaptureReader::State::require_prompt(int prompt) const {
  if (prompt >= 0 && prompt < prompts) return;
  fail("/prompts", "no such prompt", "0 … " + std::to_string(prompts - 1), std::to_string(prompt));
}

std::optional<std::string> CaptureReader::State::find(int prompt, HookId hook) const {
  require_prompt(prompt);
  const std::string name = hook_name(hook);
  for (const std::string& candidate : {group_path(prompt) + "/cache/" + name, "packed/" + name}) {
    if (root->has(candidate)) return candidate;
  }
  return std::nullopt;
}

h5::Slab CaptureReader::State::rows_of(const h5::Dataset& dataset, int prompt) const {
  const auto p = static_cast<std::size_t>(prompt);
  h5::Slab slab{.offset = h5::Dims(dataset.dims().size(), 0), .extent = dataset.dims()};
  if (slab.extent.empty() || static_cast<std::int64_t>(slab.extent[0]) < row_offsets[p + 1]) {
    fail(dataset.path(), "fewer rows than the offsets name", std::to_string(row_offsets[p + 1]),
         slab.extent.empty() ? "none" : std::to_string(slab.extent[0]));
  }
  slab.offset[0] = static_cast<std::uint64_t>(row_offsets[p]);
  slab.extent[0] = static_cast<std::uint64_t>(row_offsets[p + 1] - row_offsets[p]);
  return slab;
}

CaptureReader::CaptureReader(const std::string& path, const ReaderOptions& options)
    : state_(std::make_unique<State>()) {
  const auto open = [&path](State& s) {
    s.path = path;
    s.file.emplace(h5::File::open(path));
    s.root = s.file->root();
    s.read_header();
  };
  if (options.trust == Trust::foreign) {
    run_guarded(path, {}, [&open] {
      State s;
      open(s);
      walk_file(*s.file);
      return std::string();
    });
  }
  open(*state_);
  if (options.trust == Trust::foreign) state_->file->compare_digests();
  state_->read_layout();
}

CaptureReader::~CaptureReader() = default;
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;

const std::string& CaptureReader::path() const {
  return state_->path;
}
const FileInfo& CaptureReader::file() const {
  return state_->info;
}
FileLayout CaptureReader::layout() const {
  return state_->layout;
}
int CaptureReader::prompts() const {
  return state_->prompts;
}

int CaptureReader::find_prompt(const std::string& id, const std::string& option) const {
  const std::string digits = id.rfind('p', 0) == 0 ? id.substr(1) : id;
  // "000007" is how groups are named; a plain number has no leading zeros to strip.
  const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  const auto number = digits.empty() ? std::nullopt : parse_integer(digits.substr(first));
  if (number && *number >= 0 && *number < prompts()) return static_cast<int>(*number);
  throw Error(ErrorKind::input, "SR06",
              {.where = option,
               .what = "no such prompt in " + escape_untrusted(path(), 4096),
               .expected = prompts() == 1 ? prompt_group_name(0)
                                          : prompt_group_name(0) + " to " +
                                                prompt_group_name(std::max(0, prompts() - 1)),
               .got = quote(id)});
}

std::vector<HookId> CaptureReader::hooks(int prompt) const {
  state_->require_prompt(prompt);
  std::vector<HookId> hooks;
  for (const std::string& folder : {state_->group_path(prompt) + "/cache", std::string("packed")}) {
    if (!state_->root->is_group(folder)) continue;
    for (const std::string& name : state_->root->open_group(folder).names()) {
      const auto hook = parse_hook(name);
      if (hook && hook_name(*hook) == name) hooks.push_back(*hook);
    }
  }
  std::sort(hooks.begin(), hooks.end(), comes_before);
  hooks.erase(std::unique(hooks.begin(), hooks.end()), hooks.end());
  return hooks;
}

// A list of kept heads or positions has one entry for each index of its axis.
void CaptureReader::State::require_whole_subset(const StoredSite& site) const {
  const auto check = [&](const std::vector<std::int64_t>& list, const std::string& labels) {
    for (std::size_t a = 0; a < site.dims.size() && !list.empty(); ++a) {
      if (labels.find(site.dims[a]) == std::string::npos) continue;
      if (static_cast<std::int64_t>(list.size()) == site.shape[a]) return;
      fail(site.path, "not one kept index for each along " + site.dims[a],
           std::to_string(site.shape[a]), std::to_string(list.size()));
    }
  };
  check(site.subset.heads, "hg");
  check(site.subset.q_positions, "qn");
  check(site.subset.k_positions, "kn");
}

std::optional<StoredSite> CaptureReader::site(int prompt, HookId hook) const {
  const auto path = state_->find(prompt, hook);
  if (!path) return std::nullopt;
  const h5::Dataset dataset = state_->root->open_dataset(*path);
  StoredSite site{.hook = hook, .path = dataset.path(), .dims = dataset.labels()};
  h5::Dims shape = dataset.dims();
  if (site.dims.size() != shape.size()) {
    state_->fail(dataset.path(), "not one label an axis", std::to_string(shape.size()),
                 std::to_string(site.dims.size()));
  }
  if (state_->is_packed(*path)) {
    const h5::Slab rows = state_->rows_of(dataset, prompt);
    shape = rows.extent;
    if (state_->root->has("packed/positions")) {
      const auto all = read_integers(state_->root->open_dataset("packed/positions"));
      const auto first = static_cast<std::ptrdiff_t>(rows.offset[0]);
      const auto count = static_cast<std::ptrdiff_t>(rows.extent[0]);
      if (first + count <= static_cast<std::ptrdiff_t>(all.size())) {
        auto& kept = position_axis(hook.site) == PositionAxis::key ? site.subset.k_positions
                                                                   : site.subset.q_positions;
        kept.assign(all.begin() + first, all.begin() + first + count);
      }
    }
    site.subset.heads = dataset.integers("heads");
  } else {
    site.subset = read_subset(dataset);
  }
  site.shape.assign(shape.begin(), shape.end());
  state_->require_whole_subset(site);
  const h5::Scalar scalar = dataset.type().scalar;
  site.dtype = scalar == h5::Scalar::f64   ? DType::f64
               : scalar == h5::Scalar::f16 ? DType::f16
                                           : DType::f32;
  const bool is_map = hook.site == Site::pattern || hook.site == Site::attn_scores;
  if (is_map && shape.size() == 3) site.map = read_map_spec(dataset, hook.site);
  return site;
}

Array CaptureReader::read(int prompt, HookId hook) const {
  const auto path = state_->find(prompt, hook);
  if (!path) {
    throw Error(ErrorKind::input, "SR07",
                {.where = escape_untrusted(state_->path, 4096),
                 .what = hook_name(hook) + " was not captured for " + prompt_group_name(prompt)});
  }
  const h5::Dataset dataset = state_->root->open_dataset(*path);
  return state_->is_packed(*path) ? read_part(dataset, state_->rows_of(dataset, prompt))
                                  : read_all(dataset);
}

std::vector<float> CaptureReader::read_map(int prompt, HookId hook, std::int64_t slot) const {
  const auto stored = site(prompt, hook);
  if (!stored || !stored->map) {
    throw Error(ErrorKind::input, "SR07",
                {.where = escape_untrusted(state_->path, 4096),
                 .what = "no map of " + hook_name(hook) + " for " + prompt_group_name(prompt)});
  }
  if (slot < 0 || slot >= stored->map->heads) {
    state_->fail(stored->path, "no such head", "0 … " + std::to_string(stored->map->heads - 1),
                 std::to_string(slot));
  }
  const h5::Dataset dataset = state_->root->open_dataset(stored->path.substr(1));
  return read_part(dataset, {.offset = {static_cast<std::uint64_t>(slot), 0, 0},
                             .extent = {1, static_cast<std::uint64_t>(stored->map->queries),
                                        static_cast<std::uint64_t>(stored->map->keys)}})
      .as_float();
}

std::optional<std::int64_t> CaptureReader::head_slot(const StoredSite& site, std::int64_t head) {
  const auto axis = std::find_if(site.dims.begin(), site.dims.end(),
                                 [](const std::string& d) { return d == "h" || d == "g"; });
  if (axis == site.dims.end()) return std::nullopt;
  const auto& heads = site.subset.heads;
  if (heads.empty()) {
    const std::int64_t count = site.shape[static_cast<std::size_t>(axis - site.dims.begin())];
    return head >= 0 && head < count ? std::optional(head) : std::nullopt;
  }
  const auto found = std::find(heads.begin(), heads.end(), head);
  return found == heads.end() ? std::nullopt : std::optional<std::int64_t>(found - heads.begin());
}

}  // namespace attnscope
