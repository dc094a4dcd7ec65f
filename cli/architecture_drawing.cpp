#include "architecture_drawing.h"

#include <algorithm>
#include <vector>

#include "attnscope/render/label.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::cli {
namespace {

constexpr int kLabelWidth = 12;
constexpr std::size_t kMaxUnusedShown = 5;

struct Box {
  std::string title;  // in the upper edge; may be empty
  std::vector<std::string> lines;
};

std::string repeat(const char* piece, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += piece;
  return out;
}

std::string field(const std::string& label, const std::string& value) {
  return pad_to_width(label, kLabelWidth, Align::left) + value;
}

// Boxes under each other, joined by arrows.
std::string stack_boxes(const std::vector<Box>& boxes) {
  int width = 0;
  for (const Box& box : boxes) {
    width = std::max(width, display_width(box.title) + 6);
    for (const std::string& line : box.lines) width = std::max(width, display_width(line) + 2);
  }
  std::string out;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& box = boxes[i];
    const std::string title = box.title.empty() ? "" : " " + box.title + " ";
    const char* entry = i == 0 ? "─" : "▼";
    out += "  ┌─" + std::string(entry) + "─" + title +
           repeat("─", width - 3 - display_width(title)) + "┐\n";
    for (const std::string& line : box.lines) {
      out += "  │ " + pad_to_width(line, width - 2, Align::left) + " │\n";
    }
    const char* exit = i + 1 == boxes.size() ? "─" : "┬";
    out += "  └─" + std::string(exit) + repeat("─", width - 2) + "┘\n";
    if (i + 1 < boxes.size()) out += "    │\n";
  }
  return out;
}

// How the residual x runs through one block.
std::vector<std::string> block_flow(const ModelConfig& config) {
  const bool before =
      config.placement == NormPlacement::pre || config.placement == NormPlacement::sandwich;
  const std::string in = before ? "norm ─ " : "";
  const std::string branch_end = config.placement == NormPlacement::sandwich ? " ─ norm" : "";
  const std::string sum_end = config.placement == NormPlacement::post ? " ─ norm" : "";
  const std::string attention = in + "attention" + branch_end;
  if (config.mlp == MlpKind::none)
    return {"x ─┬─ " + attention + " ─ (+)" + sum_end + " ─▶",
            "   └" + repeat("─", display_width(attention) + 6) + "┘"};
  if (config.parallel_block) {
    const std::string mlp = in + "MLP" + branch_end;
    const int width = std::max(display_width(attention), display_width(mlp));
    const auto branch = [width](const std::string& text) {
      return text + " " + repeat("─", width - display_width(text) + 1);
    };
    return {"x ─┬─ " + branch(attention) + "┬─ (+) ─▶", "   ├─ " + branch(mlp) + "┘   │",
            "   └" + repeat("─", width + 8) + "┘"};
  }
  const auto part = [&](const std::string& name) {
    return "┬─ " + in + name + branch_end + " ─ (+)" + sum_end;
  };
  const auto around = [&](const std::string& name) {
    const int inner = display_width(in + name + branch_end) + 6;
    return "└" + repeat("─", inner) + "┘" + std::string(display_width(sum_end) + 1, ' ');
  };
  return {"x ─" + part("attention") + " ─" + part("MLP") + " ─▶",
          "   " + around("attention") + "  " + around("MLP")};
}

Box layer_box(const ModelConfig& config, const ArchitectureDescription& about,
              const LayerGroup& group) {
  const int count = group.last - group.first + 1;
  Box box;
  box.title = count == 1 ? "layer " + std::to_string(group.first)
                         : "layers " + std::to_string(group.first) + "-" +
                               std::to_string(group.last) + " (× " + std::to_string(count) + ")";
  box.lines = block_flow(config);
  std::string heads = count_of(group.n_heads, "head") + " of " + std::to_string(group.d_head);
  if (group.n_kv_heads != group.n_heads) {
    heads += ", " + count_of(group.n_kv_heads, "kv head") + " (each read by " +
             std::to_string(group.n_heads / std::max(1, group.n_kv_heads)) + ")";
  }
  box.lines.push_back(field("attention", heads));
  box.lines.push_back(field("mask", group.mask));
  if (!group.rotary.empty()) box.lines.push_back(field("rotary", group.rotary));
  if (!group.details.empty()) box.lines.push_back(field("details", group.details));
  if (config.mlp != MlpKind::none) {
    box.lines.push_back(field("MLP", about.mlp + ", " + std::to_string(group.d_mlp) + " wide"));
  }
  box.lines.push_back(field("norm", about.norm));
  return box;
}

Box embedding_box(const ArchitectureDescription& about) {
  Box box;
  box.title = "embedding";
  std::string table = std::to_string(about.d_vocab) + " tokens × " + std::to_string(about.d_embed);
  if (about.d_embed != about.d_model) table += ", projected to " + std::to_string(about.d_model);
  box.lines = {field("tokens", table), field("positions", about.positions)};
  return box;
}

std::string count_text(std::int64_t count) {
  const double value = static_cast<double>(count);
  if (count >= 1000000000) return format_number(value / 1e9, 3) + " billion";
  if (count >= 1000000) return format_number(value / 1e6, 3) + " million";
  return std::to_string(count);
}

}  // namespace

std::string draw_architecture(const ModelConfig& config, const ArchitectureDescription& about) {
  std::string text = escape_untrusted(about.name) + ": " + about.kind + " of family " +
                     about.family + " (" + escape_untrusted(about.architecture) + "), " +
                     count_of(about.n_layers, "layer") + ", residual stream " +
                     std::to_string(about.d_model) + " wide\n";
  if (about.n_distinct_layers < about.n_layers) {
    text += about.n_distinct_layers == 1
                ? "All layers share one set of weights.\n"
                : "The layers share " + std::to_string(about.n_distinct_layers) +
                      " sets of weights in turn.\n";
  }
  std::vector<Box> boxes = {embedding_box(about)};
  for (const LayerGroup& group : about.layers) boxes.push_back(layer_box(config, about, group));
  Box head{.title = "output"};
  if (config.final_norm) head.lines.push_back(field("norm", "final"));
  head.lines.push_back(field("head", about.head));
  boxes.push_back(head);
  return text + "\n" + stack_boxes(boxes) + "\n";
}

std::string describe_sizes(const ArchitectureDescription& about, const MemoryFigures& memory) {
  std::string text =
      field("parameters", count_text(about.parameters)) + "\n" +
      field("weights", format_bytes(about.stored_bytes) + " in the files (" + about.stored_types +
                           "), " + format_bytes(about.memory_bytes) + " in memory as float32") +
      "\n" + field("context", count_of(about.n_context, "token")) + "\n" +
      field("memory", "for " + count_of(memory.tokens, "token") + ": activations " +
                          format_bytes(memory.activations) + ", maps of one layer " +
                          format_bytes(memory.layer_maps) + ", of all layers " +
                          format_bytes(memory.all_maps)) +
      "\n";
  if (!about.labels.empty()) {
    std::vector<std::string> labels;
    for (const std::string& label : about.labels) labels.push_back(escape_untrusted(label, 40));
    text += field("labels", escape_untrusted(join(labels, ", "), 400)) + "\n";
  }
  if (!about.unused.empty()) {
    std::vector<std::string> shown;
    for (const std::string& name : about.unused) {
      if (shown.size() < kMaxUnusedShown) shown.push_back(escape_untrusted(name));
    }
    if (about.unused.size() > shown.size()) {
      shown.push_back("and " + std::to_string(about.unused.size() - shown.size()) + " more");
    }
    text += field("not read", join(shown, ", ")) + "\n";
  }
  return text;
}

std::string show_template(const std::string& chat_template) {
  if (chat_template.empty()) return "";
  std::string text = "\nChat template (shown only, never run):\n";
  for (const std::string& line : split(chat_template, '\n')) {
    text += "  " + escape_untrusted(line, 2000) + "\n";
  }
  return text;
}

}  // namespace attnscope::cli
