#include "attnscope/sites/site.h"

#include <algorithm>
#include <array>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

constexpr bool kInLayer = true;
constexpr bool kOutside = false;
constexpr bool kPatchable = true;
constexpr bool kReadOnly = false;

// In the order of the enum, which is the order of the forward pass.
constexpr std::array<SiteInfo, kSiteCount> kSites = {{
    {Site::embed, "hook_embed", "b q m", kOutside, kPatchable, "embed"},
    {Site::pos_embed, "hook_pos_embed", "b q m", kOutside, kPatchable, "pos_embed"},
    {Site::resid_pre, "hook_resid_pre", "b q m", kInLayer, kPatchable, "resid_pre"},
    {Site::ln1_scale, "ln1.hook_scale", "b q 1", kInLayer, kReadOnly, "ln1_scale"},
    {Site::ln1_normalized, "ln1.hook_normalized", "b q m", kInLayer, kPatchable, "ln1_normalized"},
    {Site::q, "attn.hook_q", "b q h d", kInLayer, kPatchable, "q"},
    {Site::k, "attn.hook_k", "b k g d", kInLayer, kPatchable, "k"},
    {Site::v, "attn.hook_v", "b k g d", kInLayer, kPatchable, "v"},
    {Site::rot_q, "attn.hook_rot_q", "b q h d", kInLayer, kPatchable, "rot_q"},
    {Site::rot_k, "attn.hook_rot_k", "b k g d", kInLayer, kPatchable, "rot_k"},
    {Site::attn_scores, "attn.hook_attn_scores", "b h q k", kInLayer, kPatchable, "attn_scores"},
    {Site::pattern, "attn.hook_pattern", "b h q k", kInLayer, kPatchable, "pattern"},
    {Site::z, "attn.hook_z", "b q h d", kInLayer, kPatchable, "z"},
    {Site::result, "attn.hook_result", "b q h m", kInLayer, kPatchable, "result"},
    {Site::attn_out, "hook_attn_out", "b q m", kInLayer, kPatchable, "attn_out"},
    {Site::resid_mid, "hook_resid_mid", "b q m", kInLayer, kPatchable, "resid_mid"},
    {Site::normalized_resid_mid, "hook_normalized_resid_mid", "b q m", kInLayer, kPatchable,
     "normalized_resid_mid"},
    {Site::ln2_scale, "ln2.hook_scale", "b q 1", kInLayer, kReadOnly, "ln2_scale"},
    {Site::ln2_normalized, "ln2.hook_normalized", "b q m", kInLayer, kPatchable, "ln2_normalized"},
    {Site::mlp_pre, "mlp.hook_pre", "b q f", kInLayer, kPatchable, "mlp_pre"},
    {Site::mlp_pre_linear, "mlp.hook_pre_linear", "b q f", kInLayer, kPatchable, "mlp_pre_linear"},
    {Site::mlp_post, "mlp.hook_post", "b q f", kInLayer, kPatchable, "mlp_post"},
    {Site::mlp_out, "hook_mlp_out", "b q m", kInLayer, kPatchable, "mlp_out"},
    {Site::resid_post, "hook_resid_post", "b q m", kInLayer, kPatchable, "resid_post"},
    {Site::normalized_resid_post, "hook_normalized_resid_post", "b q m", kInLayer, kPatchable,
     "normalized_resid_post"},
    {Site::ln_final_scale, "ln_final.hook_scale", "b q 1", kOutside, kReadOnly, "ln_final_scale"},
    {Site::ln_final_normalized, "ln_final.hook_normalized", "b q m", kOutside, kPatchable,
     "ln_final_normalized"},
    {Site::logits, "unembed.hook_out", "b q v", kOutside, kPatchable, "logits"},
}};

struct Alias {
  Site site;
  const char* name;  // after the layer prefix, like SiteInfo::name
};

// TransformerBridge names whose value is the same tensor. `mlp.in.hook_out` is not among them: it
// is hook_pre in a plain MLP and hook_pre_linear in a gated one.
constexpr Alias kLongAliases[] = {
    {Site::embed, "embed.hook_out"},     {Site::pos_embed, "pos_embed.hook_out"},
    {Site::resid_pre, "hook_in"},        {Site::resid_pre, "ln1.hook_in"},
    {Site::q, "attn.q.hook_out"},        {Site::k, "attn.k.hook_out"},
    {Site::v, "attn.v.hook_out"},        {Site::pattern, "attn.hook_attn_pattern"},
    {Site::z, "attn.o.hook_in"},         {Site::attn_out, "attn.hook_out"},
    {Site::resid_mid, "ln2.hook_in"},    {Site::mlp_pre, "mlp.gate.hook_out"},
    {Site::mlp_post, "mlp.out.hook_in"}, {Site::mlp_out, "mlp.hook_out"},
    {Site::resid_post, "hook_out"},
};

// Short forms of TransformerLens's get_act_name beside SiteInfo::short_name.
constexpr Alias kShortAliases[] = {
    {Site::q, "query"},
    {Site::k, "key"},
    {Site::v, "value"},
    {Site::pattern, "attn"},
    {Site::attn_scores, "attn_logits"},
    {Site::attn_scores, "scores"},
    {Site::mlp_pre, "pre"},
    {Site::mlp_pre_linear, "pre_linear"},
    {Site::mlp_post, "post"},
};

bool is_ln1(Site site) {
  return site == Site::ln1_scale || site == Site::ln1_normalized;
}
bool is_ln2(Site site) {
  return site == Site::ln2_scale || site == Site::ln2_normalized;
}

// The part of a name after the layer. A decoder layer with cross-attention has three norms: ln1
// before self-attention, ln2 before cross-attention, ln3 before the MLP.
std::string tail_of(Site site, Stack stack, std::string_view name) {
  std::string tail(name);
  if (stack == Stack::decoder && is_ln2(site)) return "ln3" + tail.substr(3);
  if (stack != Stack::cross) return tail;
  if (is_ln1(site)) return "ln2" + tail.substr(3);
  if (site == Site::attn_out && tail == "hook_attn_out") return "hook_cross_attn_out";
  if (site == Site::resid_mid && tail == "hook_resid_mid") return "hook_resid_mid_cross";
  if (tail.starts_with("attn.")) return "cross_" + tail;
  return tail;
}

std::string prefix_of(HookId hook) {
  if (!site_info(hook.site).in_layer) {
    if (hook.site == Site::logits || hook.stack == Stack::self) return "";
    return hook.stack == Stack::encoder ? "encoder." : "decoder.";
  }
  const char* stack = hook.stack == Stack::self      ? "blocks."
                      : hook.stack == Stack::encoder ? "encoder."
                                                     : "decoder.";
  return stack + std::to_string(hook.layer) + ".";
}

bool has_cross_form(Site site) {
  switch (site) {
    case Site::ln1_scale:
    case Site::ln1_normalized:
    case Site::q:
    case Site::k:
    case Site::v:
    case Site::attn_scores:
    case Site::pattern:
    case Site::z:
    case Site::result:
    case Site::attn_out:
    case Site::resid_mid:
      return true;
    default:
      return false;
  }
}

std::string short_prefix(HookId hook) {
  if (hook.layer < 0) return "";
  const char* stack = hook.stack == Stack::self      ? ""
                      : hook.stack == Stack::encoder ? "enc:"
                      : hook.stack == Stack::decoder ? "dec:"
                                                     : "cross:";
  return stack + std::to_string(hook.layer) + ".";
}

// Every name by which one hook may be asked for, with and without its layer.
struct Names {
  std::vector<std::string> own;      // names of HookedTransformer and their short forms
  std::vector<std::string> aliases;  // names of other tools
};

std::string bridge_tail(HookId hook, const std::string& tail) {
  if (hook.stack == Stack::decoder && tail.starts_with("attn.")) return "self_" + tail;
  if (tail == "hook_resid_mid_cross") return "hook_resid_mid2";
  return tail;
}

void add_alias(HookId hook, std::string_view name, Names& names) {
  const std::string tail = tail_of(hook.site, hook.stack, name);
  names.aliases.push_back(prefix_of(hook) + tail);
  if (!site_info(hook.site).in_layer) return;
  names.aliases.push_back(tail);
  if (hook.stack == Stack::self) return;
  const char* stack = hook.stack == Stack::encoder ? "encoder_blocks." : "decoder_blocks.";
  names.aliases.push_back(stack + std::to_string(hook.layer) + "." + bridge_tail(hook, tail));
}

void add_short(HookId hook, const char* name, std::vector<std::string>& out) {
  out.push_back(short_prefix(hook) + name);
  out.emplace_back(name);
}

void add_final_norm_alias(HookId hook, Names& names) {
  const std::string_view name(site_info(hook.site).name);
  if (hook.stack == Stack::self || !name.starts_with("ln_final.")) return;
  const char* stack = hook.stack == Stack::encoder ? "encoder_final_ln." : "decoder_final_ln.";
  names.aliases.push_back(stack + std::string(name.substr(9)));
}

Names names_of(HookId hook) {
  Names names;
  const SiteInfo& info = site_info(hook.site);
  names.own.push_back(hook_name(hook));
  if (info.in_layer) names.own.push_back(tail_of(hook.site, hook.stack, info.name));
  add_short(hook, info.short_name, names.own);
  // What leaves a post-norm layer is the normalised residual: the short form asks for both.
  if (hook.site == Site::normalized_resid_post) add_short(hook, "resid_post", names.own);

  add_alias(hook, info.name, names);
  add_final_norm_alias(hook, names);
  for (const Alias& alias : kLongAliases) {
    if (alias.site == hook.site) add_alias(hook, alias.name, names);
  }
  for (const Alias& alias : kShortAliases) {
    if (alias.site == hook.site) add_short(hook, alias.name, names.aliases);
  }
  return names;
}

bool matches_any(std::string_view pattern, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return glob_match(pattern, name); });
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The number that stands alone between separators in a name, or −1.
int layer_in(std::string_view name) {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find_first_of(".:", begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    const bool digits =
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!part.empty() && part.size() <= 6 && digits) return static_cast<int>(*parse_integer(part));
    begin = end + 1;
  }
  return -1;
}

[[noreturn]] void no_match(std::string_view part, const SiteInventory& inventory,
                           std::string_view option) {
  std::vector<std::string> candidates;
  for (const HookId& hook : inventory.hooks) {
    const Names names = names_of(hook);
    candidates.insert(candidates.end(), names.own.begin(), names.own.end());
    candidates.insert(candidates.end(), names.aliases.begin(), names.aliases.end());
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  const std::vector<std::string> near = nearest(part, candidates);
  std::string next = near.empty() ? "try \"pattern\", \"z\", \"resid_post\" or \"blocks.0.*\""
                                  : "nearest: " + join(near, ", ");
  next += "; layers are 0 to " + std::to_string(inventory.n_layers - 1);
  throw Error(ErrorKind::input, "SE10",
              {.where = std::string(option),
               .what = quote(part) + " matches no site of this model",
               .next = next});
}

}  // namespace

const SiteInfo& site_info(Site site) {
  return kSites[static_cast<std::size_t>(site)];
}

std::span<const SiteInfo> all_sites() {
  return kSites;
}

std::string hook_name(HookId hook) {
  return prefix_of(hook) + tail_of(hook.site, hook.stack, site_info(hook.site).name);
}

std::optional<HookId> parse_hook(std::string_view name) {
  const int layer = layer_in(name);
  for (const SiteInfo& info : kSites) {
    if (info.in_layer != (layer >= 0)) continue;
    // "5.resid_post" alone names the sum; the normalised form has a name of its own.
    if (info.site == Site::normalized_resid_post && !name.ends_with("normalized_resid_post")) {
      continue;
    }
    for (const Stack stack : {Stack::self, Stack::encoder, Stack::decoder, Stack::cross}) {
      if (stack == Stack::cross && !has_cross_form(info.site)) continue;
      if (stack != Stack::self && info.site == Site::logits) continue;
      const HookId hook{info.site, layer, stack};
      const Names names = names_of(hook);
      if (holds(names.own, name) || holds(names.aliases, name)) return hook;
    }
  }
  return std::nullopt;
}

bool SiteInventory::contains(HookId hook) const {
  return std::find(hooks.begin(), hooks.end(), hook) != hooks.end();
}

std::vector<HookId> select_hooks(std::string_view list, const SiteInventory& inventory,
                                 std::string_view option) {
  std::vector<Names> names;
  names.reserve(inventory.hooks.size());
  for (const HookId& hook : inventory.hooks) names.push_back(names_of(hook));

  std::vector<bool> chosen(inventory.hooks.size(), false);
  const auto choose = [&](std::string_view pattern, std::vector<std::string> Names::*which) {
    bool any = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!matches_any(pattern, names[i].*which)) continue;
      chosen[i] = true;
      any = true;
    }
    return any;
  };
  for (const std::string& raw : split(list, ',')) {
    const std::string_view part = trim(raw);
    if (part.empty()) {
      throw Error(ErrorKind::input, "SE11",
                  {.where = std::string(option),
                   .what = "an empty part in " + quote(list),
                   .expected = "names or globs separated by commas, such as pattern,z"});
    }
    const std::string_view pattern = part == "all" ? "*" : part;
    // Names of other tools count only where no own name matches, so that "attn.hook_*" does not
    // reach hook_attn_out by its alias "attn.hook_out".
    if (!choose(pattern, &Names::own) && !choose(pattern, &Names::aliases)) {
      no_match(part, inventory, option);
    }
  }
  std::vector<HookId> hooks;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) hooks.push_back(inventory.hooks[i]);
  }
  return hooks;
}

}  // namespace attnscope
