// Line charts as one SVG file, for pictures outside report.html.
#pragma once

#include "report/svg_chart.hpp"

#include <string>
#include <vector>

namespace rollcall::report {

struct SheetPanel {
  ChartText text;
  std::vector<Series> series;  ///< the same names in every panel, coloured by sheet_color
};

/// Panels below each other under one title and one legend. Colours and fonts are written out, so
/// that any viewer shows the same.
std::string svg_sheet(const std::string& title, const std::vector<SheetPanel>& panels);
std::string sheet_color(std::size_t index);  ///< distinct, readable on white, repeating after eight

}  // namespace rollcall::report
