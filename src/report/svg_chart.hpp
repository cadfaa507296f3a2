// Charts as figures of inline SVG: lines, stacked areas, grouped bars. No script; hovering shows
// the numbers.
#pragma once

#include "report/series.hpp"

#include <string>
#include <vector>

namespace rollcall::report {

enum class Unit { plain, share, seconds };  ///< how values are written: 0.42, 42 %, 4.2 s

struct ChartText {
  std::string title, note;  ///< the note is a short remark beside the title
  std::string x_label;
  Unit unit = Unit::plain;
};

/// Curves over x. Empty when there is not one finite value. Long noisy curves are drawn thin, with
/// their running mean in bold.
std::string line_chart(const ChartText& text, const std::vector<Series>& series);

/// Curves on top of each other; all share the x of the first. Negative values and gaps count as
/// zero. Empty when nothing is positive.
std::string area_chart(const ChartText& text, const std::vector<Series>& layers);

struct Bar {
  double value = 0.0;            ///< not finite: no bar
  double low = 0.0, high = 0.0;  ///< interval, drawn where low < high
};
struct BarSeries {
  std::string name, color;
  std::vector<Bar> bars;  ///< [categories]
};
std::string bar_chart(const ChartText& text, const std::vector<std::string>& categories,
                      const std::vector<BarSeries>& series);

std::string palette(std::size_t index);  ///< distinct colours for unordered things, repeating after
                                         ///< eight
std::string ramp(std::size_t index, std::size_t count);  ///< ordered colours, cold to warm

}  // namespace rollcall::report
