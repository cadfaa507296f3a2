// The parts that all charts share: plot area, scales with round ticks, axes, legend and hover
// targets.
#pragma once

#include "report/svg_chart.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rollcall::report {

/// The interval that an axis shows.
struct Span {
  double low = 0.0, high = 1.0;
};

/// Smallest and largest finite value; {1, 0} if there is none.
Span span_of(const std::vector<double>& values);
Span merged(Span a, Span b);
/// The span widened to round ticks with some space, and down to zero if that costs little. It is
/// never empty.
Span rounded(Span s);
/// Round numbers (1, 2 or 5 times a power of ten) within the span, about `count` of them.
std::vector<double> ticks(Span s, int count);
std::string tick_text(double value, double step, Unit unit);
std::string value_text(double value, Unit unit);

/// Collects the marks of one chart and wraps them into a <figure>.
class Frame {
 public:
  static constexpr double kWidth = 640, kHeight = 280, kLeft = 58, kRight = 14, kTop = 10,
                          kBottom = 42;
  Frame(ChartText text, Span x, Span y) : text_(std::move(text)), x_(x), y_(y) {}
  double px(double x) const {
    return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight);
  }
  double py(double y) const {
    return kHeight - kBottom - (y - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom);
  }
  void add(const std::string& mark) { marks_ += mark; }
  void y_axis();
  void x_axis();
  void category(double at, const std::string& name);  ///< a label under the axis at position `at`
                                                      ///< [pixels]
  void legend(const std::string& name, const std::string& color);
  /// A vertical strip around position `at` [pixels] that shows `text` under the pointer.
  void hover(double at, double width, const std::string& text);
  std::string plot() const;    ///< axes and marks, as the content of an <svg> of this size
  std::string figure() const;  ///< the plot with title, legend and hover targets, for a page

 private:
  ChartText text_;
  Span x_, y_;
  std::string legend_, axes_, marks_, hovers_;
};

/// Axes, curves and legend of a line chart that has a finite value.
Frame line_frame(const ChartText& text, const std::vector<Series>& series);

/// Strips around the positions of x (thinned), each of which shows the values of all series there.
void hover_series(Frame& frame, const ChartText& text, const std::vector<Series>& series);

}  // namespace rollcall::report
