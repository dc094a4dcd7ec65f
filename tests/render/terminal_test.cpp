#include "attnscope/render/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <sstream>

#include "attnscope/render/label.h"
#include "maps.h"

namespace attnscope {
namespace {

using testing::causal_map;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  return plain;
}

TEST(TerminalMap, WithoutColorsIsDensityCharacters) {
  const std::string text = terminal_heat_map(causal_map(3), {ColorDepth::none, 80});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto lines = lines_of(text);
  EXPECT_EQ(lines[0], "head 5.1");
  EXPECT_EQ(lines[1], "·w0 @@    ");
  // 1/2 and 1/3 lie in the fifth and the fourth of nine steps.
  EXPECT_EQ(lines[2], "·w1 ++++  ");
  EXPECT_EQ(lines[3], "·w2 ======");
  EXPECT_EQ(lines[4], "    · · · ");
  EXPECT_EQ(lines[5], "    w w w ");
  EXPECT_EQ(lines[6], "    0 1 2 ");
  EXPECT_NE(text.find("model: tiny"), std::string::npos);
}

TEST(TerminalMap, ColorsFillTheCellsAndAreReset) {
  const auto lines = lines_of(terminal_heat_map(causal_map(3), {ColorDepth::true_color, 80}));
  EXPECT_EQ(lines[1], "·w0 \x1b[48;2;253;231;37m  \x1b[49m    ");
  EXPECT_TRUE(lines[3].ends_with("\x1b[0m"));
}

TEST(TerminalMap, NeverWiderThanTheTerminal) {
  for (const int tokens : {1, 12, 40, 65, 200, 500}) {
    for (const int columns : {40, 80, 133}) {
      for (const ColorDepth color : {ColorDepth::none, ColorDepth::colors_256}) {
        HeatMap map = causal_map(tokens);
        map.caption.push_back("prompt: " + std::string(300, 'x'));
        const std::string text = terminal_heat_map(map, {color, columns});
        for (const std::string& line : lines_of(without_escapes(text))) {
          if (line.starts_with("note:")) continue;
          EXPECT_LE(display_width(line), columns) << tokens << " tokens, " << line;
        }
        EXPECT_EQ(text.find("note:") != std::string::npos, tokens > columns - 5)
            << tokens << " in " << columns;
      }
    }
  }
}

// The palette as xterm documents it.
Rgb xterm_color(int index) {
  if (index >= 232) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (index - 232));
    return {grey, grey, grey};
  }
  const auto level = [](int step) {
    return static_cast<std::uint8_t>(step == 0 ? 0 : 55 + 40 * step);
  };
  return {level((index - 16) / 36), level((index - 16) / 6 % 6), level((index - 16) % 6)};
}

TEST(TerminalMap, TwoHundredFiftySixColorsStillGetLighter) {
  const std::string text = terminal_heat_map(causal_map(2), {ColorDepth::colors_256, 80});
  const std::string legend = lines_of(text)[6];
  double before = -1;
  int colors = 0;
  for (std::size_t at = legend.find("48;5;"); at != std::string::npos;
       at = legend.find("48;5;", at + 1)) {
    const double light = luminance(xterm_color(std::stoi(legend.substr(at + 5))));
    EXPECT_GE(light, before);
    colors += light > before;
    before = light;
  }
  EXPECT_GE(colors, 8);
}

TEST(TerminalMap, HalfBlocksHoldTwoRows) {
  const auto lines = lines_of(terminal_heat_map(causal_map(70), {ColorDepth::true_color, 100}));
  // 35 lines of maps after the title.
  EXPECT_NE(lines[35].find("▀"), std::string::npos);
  EXPECT_EQ(lines[36].find("▀"), std::string::npos);
  // Row 0 has one cell, row 1 has two: in the second column only the lower half is drawn.
  EXPECT_NE(lines[1].find("▀"), std::string::npos);
  EXPECT_NE(lines[1].find("▄"), std::string::npos);
}

TEST(TerminalMap, TokensCannotSendEscapes) {
  HeatMap map = causal_map(2);
  map.row_labels = map.column_labels = {"\x1b[2J", "\a"};
  map.title = "\x1b]0;x\a";
  map.caption = {"\x1b[31m"};
  const std::string text = terminal_heat_map(map, {ColorDepth::none, 80});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\a'), std::string::npos);
}

TEST(TerminalMap, WideAndCombiningLabelsKeepTheColumns) {
  HeatMap map = causal_map(2);
  map.row_labels = map.column_labels = {"日本", "e\u0301a"};
  const auto lines = lines_of(terminal_heat_map(map, {ColorDepth::none, 80}));
  EXPECT_EQ(lines[1], "日本 @@  ");
  EXPECT_EQ(lines[2], "  e\u0301a ++++");
  EXPECT_EQ(lines[3], "     日e\u0301 ");
  EXPECT_EQ(lines[4], "     本a ");
}

HeadGrid small_grid() {
  return {.statistic = "induction",
          .layers = {0, 3},
          .heads = 2,
          .values = {0.5F, std::numeric_limits<float>::quiet_NaN(), 0.994F, 0}};
}

TEST(TerminalGrid, WritesValuesInCells) {
  const auto lines = lines_of(terminal_head_grid(small_grid(), {ColorDepth::none, 80}));
  EXPECT_EQ(lines[0], "head          0     1 ");
  EXPECT_EQ(lines[1], "layer 0    0.50    –  ");
  EXPECT_EQ(lines[2], "layer 3    0.99  0.00 ");
  EXPECT_NE(lines[3].find("0.994  induction"), std::string::npos);
}

TEST(TerminalGrid, NarrowTerminalsGetColorsOnly) {
  HeadGrid grid{.statistic = "sink", .layers = {0}, .heads = 32, .values = {}};
  for (int i = 0; i < 32; ++i) grid.values.push_back(static_cast<float>(i) / 31);
  const auto lines =
      lines_of(without_escapes(terminal_head_grid(grid, {ColorDepth::colors_256, 80})));
  EXPECT_EQ(display_width(lines[1]), 10 + 2 * 32);
}

TEST(TopHeadsText, NamesThemInOrder) {
  const auto lines = lines_of(terminal_top_heads(small_grid(), 2, {ColorDepth::none, 80}));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "   1.  3.0           0.994  ########################");
  EXPECT_EQ(lines[1], "   2.  0.0             0.5  ############");
}

class Environment : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"NO_COLOR", "TERM", "COLORTERM", "CLICOLOR_FORCE", "COLUMNS"}) {
      unsetenv(name);
    }
    ASSERT_EQ(pipe(pipe_), 0);
  }
  void TearDown() override {
    close(pipe_[0]);
    close(pipe_[1]);
  }
  TerminalStyle style() const { return terminal_style_of(pipe_[1]); }
  int pipe_[2] = {-1, -1};
};

TEST_F(Environment, NoColorsIntoAPipe) {
  EXPECT_EQ(style().color, ColorDepth::none);
  EXPECT_EQ(style().columns, 100);
}

TEST_F(Environment, ColorsCanBeForcedAndForbidden) {
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_EQ(style().color, ColorDepth::colors_256);
  setenv("COLORTERM", "truecolor", 1);
  EXPECT_EQ(style().color, ColorDepth::true_color);
  setenv("TERM", "dumb", 1);
  EXPECT_EQ(style().color, ColorDepth::none);
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(style().color, ColorDepth::none);
  setenv("NO_COLOR", "", 1);
  EXPECT_EQ(style().color, ColorDepth::true_color);
}

TEST_F(Environment, ColumnsOverrideTheWidth) {
  setenv("COLUMNS", "57", 1);
  EXPECT_EQ(style().columns, 57);
  setenv("COLUMNS", "junk", 1);
  EXPECT_EQ(style().columns, 100);
}

}  // namespace
}  // namespace attnscope
