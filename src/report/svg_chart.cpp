// Draws lines, areas and bars.
#include "report/svg_chart.hpp"

#include "report/html_text.hpp"
#include "report/svg_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rollcall::report {
namespace {

constexpr std::size_t kBuckets = 280;  // half of the plot's width in pixels, because each bucket
                                       // has two points

// Path data: the pen moves ("M") or draws ("L") to a point.
std::string point(const Frame& f, char pen, double x, double y) {
  return fmt::format("{}{:.1f},{:.1f}", pen, f.px(x), f.py(y));
}

// One path, which is interrupted at every gap. A single value between two gaps becomes a dot (a
// zero-length line with round caps).
std::string path(const Frame& f, const Series& s, const char* css) {
  std::string d;
  bool down = false;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const bool finite = std::isfinite(s.y[i]);
    if (finite) d += point(f, down ? 'L' : 'M', s.x[i], s.y[i]);
    if (finite && !down) d += "h0";
    down = finite;
  }
  return fmt::format(R"(<path class="{}" style="stroke:{}" d="{}"/>)", css, s.color, d);
}

Span x_span(const std::vector<Series>& series) {
  Span x{1.0, 0.0};
  for (const auto& s : series) x = merged(x, span_of(s.x));
  if (x.low > x.high) return {0.0, 1.0};
  return x.low == x.high ? Span{x.low - 1, x.high + 1} : x;
}

void draw_line(Frame& f, const Series& s) {
  const std::size_t window = smoothing_window(s.x.size());
  if (window == 1) {
    f.add(path(f, s, "curve"));
    return;
  }
  f.add(path(f, thin_extremes(s, kBuckets), "curve faint"));
  f.add(path(f, thin_means(running_mean(s, window), kBuckets), "curve"));
}

double filled(double value) { return std::isfinite(value) && value > 0 ? value : 0.0; }

}  // namespace

std::string palette(std::size_t index) { return fmt::format("var(--c{})", index % 8); }

std::string ramp(std::size_t index, std::size_t count) {
  // Six colours at equal steps of lightness, readable on white and on near-black.
  static constexpr std::array<std::array<double, 3>, 6> kStops = {{{69, 90, 196},
                                                                   {46, 134, 193},
                                                                   {38, 166, 140},
                                                                   {148, 178, 64},
                                                                   {236, 160, 50},
                                                                   {207, 76, 70}}};
  const double at = count > 1 ? double(index) / double(count - 1) * double(kStops.size() - 1) : 0.0;
  const auto i = std::min(std::size_t(at), kStops.size() - 2);
  const auto mix = [&](std::size_t c) {
    return int(std::lround(kStops[i][c] + (at - double(i)) * (kStops[i + 1][c] - kStops[i][c])));
  };
  return fmt::format("rgb({},{},{})", mix(0), mix(1), mix(2));
}

Frame line_frame(const ChartText& text, const std::vector<Series>& series) {
  Span y{1.0, 0.0};
  std::size_t longest = 0;
  for (const auto& s : series) {
    y = merged(y, span_of(s.y));
    longest = std::max(longest, s.x.size());
  }
  ChartText titled = text;
  if (smoothing_window(longest) > 1) {
    titled.note += fmt::format("{}bold: running mean of {} points", text.note.empty() ? "" : "; ",
                               smoothing_window(longest));
  }
  Frame f(titled, x_span(series), rounded(y));
  f.y_axis();
  f.x_axis();
  for (const auto& s : series) {
    if (series.size() > 1) f.legend(s.name, s.color);
    draw_line(f, s);
  }
  return f;
}

std::string line_chart(const ChartText& text, const std::vector<Series>& series) {
  const bool any = std::any_of(series.begin(), series.end(), [](const Series& s) {
    return span_of(s.y).low <= span_of(s.y).high;
  });
  if (!any) return "";
  Frame f = line_frame(text, series);
  hover_series(f, text, series);
  return f.figure();
}

std::string area_chart(const ChartText& text, const std::vector<Series>& layers) {
  if (layers.empty() || layers.front().x.empty()) return "";
  std::vector<Series> thin;
  for (const auto& layer : layers) thin.push_back(thin_means(layer, kBuckets));
  const std::size_t n = thin.front().x.size();
  std::vector<double> top(n, 0.0);
  for (const auto& layer : thin) {
    for (std::size_t i = 0; i < n; ++i) top[i] += i < layer.y.size() ? filled(layer.y[i]) : 0.0;
  }
  const double highest = *std::max_element(top.begin(), top.end());
  if (highest <= 0) return "";
  Frame f(text, x_span({thin.front()}),
          text.unit == Unit::share ? Span{0.0, 1.0} : rounded({0.0, highest}));
  f.y_axis();
  f.x_axis();
  std::vector<double> floor(n, 0.0);
  for (const auto& layer : thin) {
    std::string upper, lower;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = thin.front().x[i], below = floor[i];
      floor[i] += i < layer.y.size() ? filled(layer.y[i]) : 0.0;
      upper += point(f, i ? 'L' : 'M', x, floor[i]);
      lower.insert(0, point(f, 'L', x, below));
    }
    f.legend(layer.name, layer.color);
    f.add(fmt::format(R"(<path class="area" style="fill:{}" d="{}{}Z"/>)", layer.color, upper,
                      lower));
  }
  hover_series(f, text, thin);
  return f.figure();
}

std::string bar_chart(const ChartText& text, const std::vector<std::string>& categories,
                      const std::vector<BarSeries>& series) {
  double highest = 0.0;
  for (const auto& s : series) {
    for (const auto& b : s.bars) highest = std::max({highest, filled(b.value), filled(b.high)});
  }
  if (categories.empty() || series.empty()) return "";
  Frame f(text, {0.0, double(categories.size())},
          text.unit == Unit::share ? Span{0.0, 1.0} : rounded({0.0, highest}));
  f.y_axis();
  for (const auto& s : series) f.legend(s.name, s.color);
  const double slot = f.px(1) - f.px(0),
               width = std::min(0.76 * slot / double(series.size()), 44.0);
  for (std::size_t c = 0; c < categories.size(); ++c) {
    const double middle = f.px(double(c) + 0.5), left = middle - width * double(series.size()) / 2;
    std::string lines = text.x_label + " " + categories[c];
    for (std::size_t i = 0; i < series.size() && c < series[i].bars.size(); ++i) {
      const Bar& b = series[i].bars[c];
      lines += fmt::format("\n{}: {}", series[i].name, value_text(b.value, text.unit));
      if (!std::isfinite(b.value)) continue;
      const double x = left + width * double(i), y = f.py(filled(b.value));
      f.add(fmt::format(
          R"(<rect style="fill:{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>)",
          series[i].color, x + 1, y, std::max(width - 2, 1.0), f.py(0) - y));
      if (!(b.low < b.high)) continue;
      lines +=
          fmt::format(" [{}, {}]", value_text(b.low, text.unit), value_text(b.high, text.unit));
      f.add(fmt::format(
          R"(<path class="whisker" d="M{0:.1f},{1:.1f}V{2:.1f}M{3:.1f},{1:.1f}h8M{3:.1f},{2:.1f}h8"/>)",
          x + width / 2, f.py(b.low), f.py(b.high), x + width / 2 - 4));
    }
    f.category(middle, categories[c]);
    f.hover(middle, slot, lines);
  }
  return f.figure();
}

}  // namespace rollcall::report
