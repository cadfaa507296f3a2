// Charts of the metrics gdro/<quantity>/<bin> and gdro/<quantity>, which the scheduler's pieces
// report about their difficulty bins: one chart per quantity.
#include "report/html_sections.hpp"
#include "report/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace rollcall::report {
namespace {

constexpr std::string_view kPrefix = "gdro/";
constexpr int kWhole = -1;  // takes the place of the bin's number, for a quantity without bins

struct Quantity {
  const char* name;
  const char* title;
  const char* note;
  Unit unit;
};
// Known quantities, in chart order, with their titles. Others follow under their own names.
constexpr Quantity kQuantities[] = {
    {"population", "Prompts by bin", "bin 0 is the hardest", Unit::plain},
    {"pass_rate", "Pass rate by bin", "share of groups with a correct answer", Unit::share},
    {"signal", "Loss signal by bin", "", Unit::plain},
    {"weight", "Weight of the advantages by bin", "", Unit::plain},
    {"probability", "Share of the game by bin", "", Unit::share},
    {"budget", "Rollouts per prompt by bin", "", Unit::plain},
    {"price", "Price of a rollout", "", Unit::plain}};

/// The bin at the end of a metric's name; kWhole if there is none.
int bin_of(std::string_view metric) {
  const auto slash = metric.rfind('/');
  int bin = kWhole;
  const auto [end, error] =
      std::from_chars(metric.data() + slash + 1, metric.data() + metric.size(), bin);
  return error == std::errc() && end == metric.data() + metric.size() && bin >= 0 ? bin : kWhole;
}

std::map<std::string, std::map<int, std::string>> metrics_by_quantity(
    const std::vector<MetricRow>& rows) {
  std::map<std::string, std::map<int, std::string>> found;
  for (const auto& metric : names_with(rows, "train", std::string(kPrefix))) {
    const int bin = bin_of(metric);
    const auto end = bin == kWhole ? metric.size() : metric.rfind('/');
    found[metric.substr(kPrefix.size(), end - kPrefix.size())][bin] = metric;
  }
  return found;
}

std::string chart(const std::vector<MetricRow>& rows, const Quantity& quantity,
                  const std::map<int, std::string>& by_bin) {
  std::vector<Series> series;
  for (const auto& [bin, metric] : by_bin) {
    Series s = series_of(rows, "train", metric);
    s.name = bin == kWhole ? quantity.name : fmt::format("bin {}", bin);
    s.color = bin == kWhole ? palette(0) : ramp(series.size(), by_bin.size());
    series.push_back(std::move(s));
  }
  const ChartText text{quantity.title, quantity.note, "step", quantity.unit};
  return std::string_view(quantity.name) == "population" ? area_chart(text, series)
                                                         : line_chart(text, series);
}

}  // namespace

std::string bin_charts(const ReportInput& input) {
  auto found = metrics_by_quantity(input.metrics);
  std::string figures;
  for (const auto& quantity : kQuantities) {
    if (const auto known = found.find(quantity.name); known != found.end())
      figures += chart(input.metrics, quantity, known->second), found.erase(known);
  }
  for (const auto& [name, by_bin] : found)
    figures += chart(input.metrics, {name.c_str(), name.c_str(), "", Unit::plain}, by_bin);
  return figures.empty() ? "" : fmt::format(R"(<div class="charts">{}</div>)", figures);
}

}  // namespace rollcall::report
