//===- Curve.h - a curve drawn in the terminal ------------------*- C++ -*-===//
#ifndef SMET_RUNTIME_TRAIN_CURVE_H
#define SMET_RUNTIME_TRAIN_CURVE_H

#include <span>
#include <string>

namespace smet::rt {

struct CurvePoint {
  double x, y;
};

/// How a curve is drawn: `width` x `height` characters without the axes; braille has 2 x 4 dots in a character, ASCII
/// one star.
struct CurveStyle {
  int width = 64, height = 12;
  bool unicode = true;
};

/// Draws y over x with its axes, one line of text a row, the last without a newline. Points need not be ordered;
/// those with a NaN or infinite y are left out. Empty when none remains.
std::string drawCurve(std::span<const CurvePoint> points, const CurveStyle &style);

/// Whether the locale of the environment (LC_ALL, LC_CTYPE, LANG) is UTF-8.
bool localeIsUtf8();

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_CURVE_H
