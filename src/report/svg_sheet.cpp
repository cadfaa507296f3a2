// Draws the frames of several line charts under one legend.
#include "report/svg_sheet.hpp"

#include "report/html_text.hpp"
#include "report/svg_frame.hpp"

#include <fmt/format.h>

#include <array>

namespace rollcall::report {
namespace {

constexpr double kTitle = 40, kLegendRow = 20, kLegendColumn = 150, kPanelTitle = 26;
constexpr std::size_t kLegendColumns = 4;

constexpr const char* kSheetStyle =
    R"css(text{font:12px system-ui,sans-serif;fill:#5c6573}.head{font-size:17px;font-weight:600;fill:#1b1f27}
.name{font-size:14px;font-weight:600;fill:#1b1f27}.mid{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#eceef2}.axis{stroke:#c6ccd6}
.curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.faint{stroke-width:1;opacity:.35})css";

std::string legend(const std::vector<Series>& series) {
  std::string out;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double x = 14 + kLegendColumn * double(i % kLegendColumns),
                 y = kTitle + kLegendRow * double(i / kLegendColumns);
    out += fmt::format(
        R"(<rect x="{}" y="{}" width="12" height="12" rx="3" fill="{}"/><text x="{}" y="{}">{}</text>)",
        x, y, series[i].color, x + 18, y + 10, escape(series[i].name));
  }
  return out;
}

}  // namespace

std::string sheet_color(std::size_t index) {
  // the colours of report.html
  static constexpr std::array kColors = {"#3b6fd4", "#e07b28", "#2a9d77", "#c2478f",
                                         "#7a5cc9", "#b08d17", "#2f9bb3", "#8a929e"};
  return kColors[index % kColors.size()];
}

std::string svg_sheet(const std::string& title, const std::vector<SheetPanel>& panels) {
  const std::size_t names = panels.empty() ? 0 : panels.front().series.size();
  double y = kTitle + kLegendRow * double((names + kLegendColumns - 1) / kLegendColumns) + 10;
  std::string body = panels.empty() ? "" : legend(panels.front().series);
  for (const auto& panel : panels) {
    body += fmt::format(
        R"xml(<text class="name" x="14" y="{}">{}</text><g transform="translate(0,{})">{}</g>)xml",
        y + 16, escape(panel.text.title), y + kPanelTitle,
        line_frame(panel.text, panel.series).plot());
    y += kPanelTitle + Frame::kHeight;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n<style>{2}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n<text class=\"head\" x=\"14\" y=\"26\">{3}</text>\n{4}\n</svg>\n",
      Frame::kWidth, y, kSheetStyle, escape(title), body);
}

}  // namespace rollcall::report
