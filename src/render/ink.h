// Colour escapes and their stand-ins for terminals.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attnscope/render/terminal.h"

namespace attnscope::render {

// Writes text in colours and ends every line with a reset when one is needed.
class Ink {
 public:
  explicit Ink(ColorDepth depth) : depth_(depth) {}

  void put(std::string_view text) { out_ += text; }
  // `text` on `background`, written in `foreground`; nothing = the terminal's own.
  void put(std::string_view text, std::optional<Rgb> foreground, std::optional<Rgb> background);
  void end_line();
  const std::string& text() const { return out_; }

 private:
  void change(std::optional<Rgb>& now, std::optional<Rgb> wanted, int ground);
  ColorDepth depth_;
  std::string out_;
  std::optional<Rgb> foreground_, background_;
};

// A character whose density stands for `place` in [0, 1]; '?' for NaN.
char density(double place);

// The nearest of the 240 fixed colours of a 256-colour terminal.
int nearest_of_256(Rgb color);

// "0 ▇▇▇▇▇▇ 0.98" and the name of the values.
void put_legend(Ink& ink, const Scale& scale, const std::string& name, const TerminalStyle& style);

}  // namespace attnscope::render
