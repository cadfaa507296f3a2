// Charts as figures of inline SVG: lines, stacked areas, grouped bars. They need no script, and
// hovering shows the numbers.
#pragma once

#include "report/series.hpp"

#include <string>
#include <vector>

namespace rollcall::report {

/// The notation of values: 0.42, 42 %, 4.2 s.
enum class Unit { plain, share, seconds };

struct ChartText {
  std::string title, note;  ///< the note is a short remark next to the title
  std::string x_label;
  Unit unit = Unit::plain;
};

/// Curves over x; an empty string if no value is finite. Long noisy curves are drawn thin, with
/// their running mean in bold.
std::string line_chart(const ChartText& text, const std::vector<Series>& series);

/// Curves stacked on each other, all with the x values of the first. Negative values and gaps count
/// as zero. An empty string if nothing is positive.
std::string area_chart(const ChartText& text, const std::vector<Series>& layers);

struct Bar {
  double value = 0.0;            ///< no bar if it is not finite
  double low = 0.0, high = 0.0;  ///< the interval is drawn if low < high
};
struct BarSeries {
  std::string name, color;
  std::vector<Bar> bars;  ///< [categories]
};
std::string bar_chart(const ChartText& text, const std::vector<std::string>& categories,
                      const std::vector<BarSeries>& series);

std::string palette(std::size_t index);  ///< distinct colours for unordered items; they repeat
                                         ///< after eight
std::string ramp(std::size_t index, std::size_t count);  ///< ordered colours, from cold to warm

}  // namespace rollcall::report
