// Scales, ticks and the SVG around the marks.
#include "report/svg_frame.hpp"

#include "report/html_text.hpp"
#include "report/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace rollcall::report {
namespace {

constexpr double kPlotBottom = Frame::kHeight - Frame::kBottom;

// The next round number above size / count.
double round_step(double size, int count) {
  const double raw = size / count, unit = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * unit * (1 + 1e-9)) return factor * unit;
  }
  return 10.0 * unit;
}

}  // namespace

Span span_of(const std::vector<double>& values) {
  Span s{1.0, 0.0};
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    s = s.low > s.high ? Span{v, v} : Span{std::min(s.low, v), std::max(s.high, v)};
  }
  return s;
}

Span merged(Span a, Span b) {
  if (a.low > a.high) return b;
  if (b.low > b.high) return a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Span rounded(Span s) {
  if (s.low > s.high) return {0.0, 1.0};
  if (s.low >= 0 && s.low < 0.5 * s.high) s.low = 0.0;
  const double size = s.high - s.low, scale = std::max(std::abs(s.low), std::abs(s.high));
  if (size <= 1e-12 * scale || size < 1e-300) {
    const double air = scale > 1e-300 ? 0.1 * scale : 1.0;
    s = {s.low - air, s.high + air};
  }
  const double step = round_step(s.high - s.low, 5);
  return {std::floor(s.low / step + 1e-9) * step, std::ceil(s.high / step - 1e-9) * step};
}

std::vector<double> ticks(Span s, int count) {
  const double step = round_step(s.high - s.low, count);
  std::vector<double> values;
  for (double i = std::ceil(s.low / step - 1e-9); i * step <= s.high + 1e-9 * step; ++i)
    values.push_back(i == 0 ? 0.0 : i * step);
  return values;
}

std::string tick_text(double value, double step, Unit unit) {
  if (unit == Unit::share) {
    value *= 100;
    step *= 100;
  }
  const double size = std::max(std::abs(value), step);
  const int decimals = std::clamp(int(-std::floor(std::log10(step) + 1e-9)), 0, 9);
  std::string text =
      size >= 1e4 || step < 1e-6 ? compact(value) : fmt::format("{:.{}f}", value, decimals);
  return unit == Unit::share ? text + "%" : text;
}

std::string value_text(double value, Unit unit) {
  if (!std::isfinite(value)) return "n/a";
  switch (unit) {
    case Unit::share: return fmt::format("{:.1f}%", 100 * value);
    case Unit::seconds: return value < 1 ? fmt::format("{:.3g} ms", 1e3 * value) : duration(value);
    case Unit::plain: break;
  }
  return compact(value);
}

void Frame::y_axis() {
  const auto values = ticks(y_, 5);
  const double step = values.size() > 1 ? values[1] - values[0] : 1.0;
  for (const double v : values) {
    axes_ += fmt::format(
        R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text class="tick end" x="{}" y="{:.1f}">{}</text>)",
        kLeft, kWidth - kRight, py(v), py(v), kLeft - 8, py(v) + 4,
        escape(tick_text(v, step, text_.unit)));
  }
}

void Frame::x_axis() {
  const auto values = ticks(x_, 8);
  const double step = values.size() > 1 ? values[1] - values[0] : 1.0;
  for (const double v : values) {
    if (v != std::round(v)) continue;  // steps are whole numbers
    axes_ += fmt::format(
        R"(<line class="axis" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/><text class="tick mid" x="{0:.1f}" y="{3}">{4}</text>)",
        px(v), kPlotBottom, kPlotBottom + 4, kPlotBottom + 18, tick_text(v, step, Unit::plain));
  }
}

void Frame::category(double at, const std::string& name) {
  axes_ += fmt::format(R"(<text class="tick mid" x="{:.1f}" y="{}">{}</text>)", at,
                       kPlotBottom + 18, escape(name));
}

void Frame::legend(const std::string& name, const std::string& color) {
  legend_ += fmt::format(R"(<span><i style="background:{}"></i>{}</span>)", color, escape(name));
}

void Frame::hover(double at, double width, const std::string& text) {
  hovers_ += fmt::format(
      R"(<g class="hit"><rect x="{:.1f}" y="{}" width="{:.1f}" height="{}"/><line x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/><title>{}</title></g>)",
      at - width / 2, kTop, width, kPlotBottom - kTop, at, at, kTop, kPlotBottom, escape(text));
}

std::string Frame::plot() const {
  return axes_ + marks_ +
         fmt::format(
             R"(<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/><text class="label mid" x="{}" y="{}">{}</text>)",
             kLeft, kWidth - kRight, kPlotBottom, kPlotBottom, (kLeft + kWidth - kRight) / 2,
             kHeight - 6, escape(text_.x_label));
}

std::string Frame::figure() const {
  std::string out = fmt::format("<figure><figcaption>{}", escape(text_.title));
  if (!text_.note.empty())
    out += fmt::format(R"( <span class="note">{}</span>)", escape(text_.note));
  out += "</figcaption>";
  if (!legend_.empty()) out += fmt::format(R"(<div class="legend">{}</div>)", legend_);
  out += fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth, kHeight,
                     escape(text_.title));
  return out + plot() + hovers_ + "</svg></figure>\n";
}

void hover_series(Frame& frame, const ChartText& text, const std::vector<Series>& series) {
  constexpr std::size_t kStrips = 160;
  std::map<double, std::string> at;  // lines of text by x
  for (const auto& s : series) {
    const std::size_t stride = (s.x.size() + kStrips - 1) / kStrips;
    for (std::size_t i = 0; i < s.x.size(); i += stride) {
      std::string& lines = at[s.x[i]];
      if (lines.empty()) lines = fmt::format("{} {:.0f}", text.x_label, s.x[i]);
      lines += fmt::format("\n{}: {}", s.name, value_text(s.y[i], text.unit));
    }
  }
  const double width = std::max(
      (Frame::kWidth - Frame::kLeft - Frame::kRight) / double(std::max<std::size_t>(at.size(), 1)),
      2.0);
  for (const auto& [x, lines] : at) frame.hover(frame.px(x), width, lines);
}

}  // namespace rollcall::report
