// Line charts as one SVG file, for use outside report.html.
#pragma once

#include "report/svg_chart.hpp"

#include <string>
#include <vector>

namespace rollcall::report {

struct SheetPanel {
  ChartText text;
  std::vector<Series> series;  ///< the same names in every panel; sheet_color() gives the colours
};

/// Panels below each other, under one title and one legend. Colours and fonts are written out, so
/// that every viewer shows the same.
std::string svg_sheet(const std::string& title, const std::vector<SheetPanel>& panels);
std::string sheet_color(std::size_t index);  ///< distinct colours that are readable on white; they
                                             ///< repeat after eight

}  // namespace rollcall::report
