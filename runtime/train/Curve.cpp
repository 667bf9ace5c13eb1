//===- Curve.cpp - a curve drawn in the terminal --------------------------===//

#include "runtime/train/Curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace smet::rt {

namespace {

struct Range {
  double lo, hi;

  /// The cell of `value` among `cells`.
  int cell(double value, int cells) const {
    if (hi <= lo)
      return cells / 2;
    return std::clamp(static_cast<int>((value - lo) / (hi - lo) * cells), 0, cells - 1);
  }
};

/// Dots of the picture, row 0 at the top.
struct Dots {
  int width, height;
  std::vector<uint8_t> set = std::vector<uint8_t>(static_cast<size_t>(width) * height);

  void mark(int x, int y) { set[static_cast<size_t>(y) * width + x] = 1; }
  bool at(int x, int y) const { return set[static_cast<size_t>(y) * width + x]; }
};

} // namespace

static Range rangeOf(std::span<const CurvePoint> points, double CurvePoint::*axis) {
  auto [lo, hi] = std::ranges::minmax(points, {}, axis);
  return {lo.*axis, hi.*axis};
}

/// Marks every point, and in columns without one the line between its neighbours.
static Dots plot(std::span<const CurvePoint> points, Range x, Range y, int width, int height) {
  Dots dots{width, height};
  int lastColumn = -1, lastRow = 0;
  for (const CurvePoint &point : points) {
    int column = x.cell(point.x, width), row = height - 1 - y.cell(point.y, height);
    for (int c = lastColumn + 1; lastColumn >= 0 && c < column; ++c)
      dots.mark(c, lastRow + (row - lastRow) * (c - lastColumn) / (column - lastColumn));
    dots.mark(column, row);
    lastColumn = column;
    lastRow = row;
  }
  return dots;
}

/// The braille character of 2 x 4 dots (U+2800 + one bit a dot) in UTF-8, or a space.
static std::string braille(const Dots &dots, int column, int row) {
  static constexpr uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  unsigned pattern = 0;
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 2; ++i)
      if (dots.at(2 * column + i, 4 * row + j))
        pattern |= bits[j][i];
  if (!pattern)
    return " ";
  return {'\xe2', static_cast<char>(0xa0 | pattern >> 6), static_cast<char>(0x80 | (pattern & 0x3f))};
}

static std::string rowText(const Dots &dots, int row, const CurveStyle &style) {
  std::string text;
  for (int column = 0; column < style.width; ++column)
    text += style.unicode ? braille(dots, column, row) : std::string(1, dots.at(column, row) ? '*' : ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string drawCurve(std::span<const CurvePoint> all, const CurveStyle &style) {
  std::vector<CurvePoint> points;
  std::ranges::copy_if(all, std::back_inserter(points), [](const CurvePoint &p) { return std::isfinite(p.y); });
  if (points.empty())
    return "";
  std::ranges::sort(points, {}, &CurvePoint::x);
  Range x = rangeOf(points, &CurvePoint::x), y = rangeOf(points, &CurvePoint::y);
  int across = style.unicode ? 2 : 1, down = style.unicode ? 4 : 1;
  Dots dots = plot(points, x, y, style.width * across, style.height * down);

  std::string text;
  for (int row = 0; row < style.height; ++row) {
    double label = style.height > 1 ? y.hi - (y.hi - y.lo) * row / (style.height - 1) : y.hi;
    bool labelled = row % 3 == 0 || row == style.height - 1;
    text += fmt::format("{:>9} {}{}\n", labelled ? fmt::format("{:.3f}", label) : "", style.unicode ? "┤" : "|",
                        rowText(dots, row, style));
  }
  std::string line;
  for (int column = 0; column < style.width; ++column)
    line += style.unicode ? "─" : "-";
  text += fmt::format("{:>10}{}{}\n", "", style.unicode ? "└" : "+", line);
  std::string first = fmt::format("{:.0f}", x.lo), last = fmt::format("{:.0f}", x.hi);
  return text + fmt::format("{:>11}{}{:>{}}", "", first, last, std::max<int>(style.width - (int)first.size(), 0));
}

bool localeIsUtf8() {
  for (const char *variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char *value = std::getenv(variable);
    if (!value || !*value)
      continue;
    std::string text(value);
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

} // namespace smet::rt
