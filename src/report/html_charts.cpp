// Assigns metrics to charts.
#include "report/html_sections.hpp"
#include "report/html_text.hpp"
#include "report/number_text.hpp"
#include "report/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace rollcall::report {
namespace {

using Rows = std::vector<MetricRow>;

std::string grid(const std::string& figures) {
  return figures.empty() ? "" : fmt::format(R"(<div class="charts">{}</div>)", figures);
}

Series curve(const Rows& rows, const std::string& phase, const std::string& metric,
             std::string name, std::string color) {
  Series s = series_of(rows, phase, metric);
  s.name = std::move(name);
  s.color = std::move(color);
  return s;
}

ChartText steps(std::string title, Unit unit = Unit::plain, std::string note = "") {
  return {std::move(title), std::move(note), "step", unit};
}

std::string one_curve(const Rows& rows, const std::string& phase, const std::string& metric,
                      const std::string& title, std::size_t color) {
  return line_chart(steps(title), {curve(rows, phase, metric, title, palette(color))});
}

// Pass rates of validation, and of training if it records them: every metric with such a name,
// except intervals.
std::string pass_chart(const Rows& rows) {
  std::vector<Series> series;
  for (const std::string phase : {"validation", "train"}) {
    for (const auto& name : names_with(rows, phase, "")) {
      if (name.find("pass_at_") == std::string::npos && name.find("pass_rate") == std::string::npos)
        continue;
      if (name.ends_with("_ci95") || name.ends_with("_low") || name.ends_with("_high")) continue;
      series.push_back(curve(rows, phase, name, name, palette(series.size())));
    }
  }
  return line_chart(steps("Pass rate", Unit::share), series);
}

// Names of class_share/<level>, in the order of the levels if these are numbers.
std::vector<std::string> share_names(const Rows& rows, const std::string& prefix) {
  auto names = names_with(rows, "train", prefix);
  const auto level = [&](const std::string& name) {
    int value = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), value);
    return value;
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const auto& a, const auto& b) { return level(a) < level(b); });
  return names;
}

constexpr const char* kStages[] = {"generation", "scoring", "update",     "weights",
                                   "exchange",   "archive", "checkpoint", "scheduling"};

std::string stage_totals(const std::vector<std::pair<std::string, double>>& seconds) {
  double total = 0.0;
  for (const auto& [stage, s] : seconds) total += std::isfinite(s) ? std::max(s, 0.0) : 0.0;
  if (total <= 0) return "";
  std::string body;
  std::size_t color = 0;
  for (const auto& [stage, s] : seconds) {
    const double share = std::isfinite(s) ? std::max(s, 0.0) / total : 0.0;
    const auto* known = std::find(std::begin(kStages), std::end(kStages), stage);
    color = known != std::end(kStages) ? std::size_t(known - kStages) : color + 1;
    body += fmt::format(
        R"(<tr><td>{}</td><td class="n">{}</td><td class="n">{:.1f}%</td><td><div class="meter"><i style="width:{:.1f}%;background:{}"></i></div></td></tr>)",
        escape(stage), duration(s), 100 * share, 100 * share, palette(color));
  }
  return fmt::format(
      R"(<figure><figcaption>Whole run</figcaption><table><tr><th>stage</th><th class="n">time</th><th class="n">share</th><th></th></tr>{}</table></figure>)",
      body);
}

// A chart of drawn and trained rollouts. It is shown only if the scheduler draws rollouts that are
// not trained on, or if the number of drawn rollouts changes from step to step.
std::string drawn_and_trained(const Rows& rows) {
  const Series drawn = curve(rows, "train", "rollout_alloc/drawn", "drawn", palette(0)),
               trained = curve(rows, "train", "rollout_alloc/trained", "trained", palette(1));
  const bool constant =
      std::adjacent_find(drawn.y.begin(), drawn.y.end(), std::not_equal_to<>()) == drawn.y.end();
  if (constant && drawn.y == trained.y) return "";
  return line_chart(steps("Rollouts drawn and trained"), {drawn, trained});
}

}  // namespace

std::string learning_charts(const ReportInput& input) {
  return grid(
      one_curve(input.metrics, "train", "critic/rewards/mean", "Mean reward", 0) +
      pass_chart(input.metrics) +
      one_curve(input.metrics, "train", "response_length/mean", "Mean response length (tokens)",
                3) +
      line_chart(steps("Responses cut at the token limit", Unit::share),
                 {curve(input.metrics, "train", "response_length/clip_ratio", "cut", palette(5))}) +
      one_curve(input.metrics, "train", "actor/entropy", "Policy entropy (nats per token)", 2) +
      one_curve(input.metrics, "sft", "sft/loss", "Supervised loss", 1));
}

std::string budget_charts(const ReportInput& input) {
  const std::string prefix = "rollout_alloc/class_share/";
  const auto names = share_names(input.metrics, prefix);
  std::vector<Series> layers;
  std::string note;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Series layer = curve(input.metrics, "train", names[i],
                         "level " + names[i].substr(prefix.size()), ramp(i, names.size()));
    // The levels that single steps happen to draw would hide the trend. Means of shares are shares
    // again.
    const std::size_t window = smoothing_window(layer.x.size());
    if (window > 1) note = fmt::format("running mean of {} points", window);
    layers.push_back(running_mean(layer, window));
  }
  std::vector<Series> counts;
  for (const std::string name : {"max", "mean", "min"}) {
    Series s = curve(input.metrics, "train", "rollout_alloc/" + name, name, palette(counts.size()));
    if (!s.x.empty()) counts.push_back(std::move(s));
  }
  return grid(area_chart(steps("Share of the budget by level", Unit::share, note), layers) +
              line_chart(steps("Rollouts per prompt"), counts) + drawn_and_trained(input.metrics));
}

namespace {

/// A chart of a metric over the optimizer steps of a training step: their mean and, if there are
/// several, the value at the last one. Empty if the run has neither.
std::string mean_and_last(const Rows& rows, const std::string& metric, const std::string& title,
                          Unit unit) {
  const Series mean = curve(rows, "train", metric, "mean of the updates", palette(0)),
               last = curve(rows, "train", metric + "_last", "last update", palette(1));
  if (mean.x.empty()) return "";
  return line_chart(steps(title, unit),
                    last.x.empty() ? std::vector{mean} : std::vector{mean, last});
}

}  // namespace

std::string health_charts(const ReportInput& input) {
  const Rows& rows = input.metrics;
  std::vector<Series> ratio;
  for (const std::string end : {"max", "min"}) {
    Series s = curve(rows, "train", "actor/ratio_" + end, end, palette(ratio.size()));
    if (!s.x.empty()) ratio.push_back(std::move(s));
  }
  return grid(
      line_chart(steps("Importance ratio", Unit::plain, "extremes over the tokens of all updates"),
                 ratio) +
      mean_and_last(rows, "actor/pg_clipfrac", "Clipped share of tokens", Unit::share) +
      mean_and_last(rows, "actor/ppo_kl",
                    "Divergence from the policy that sampled (nats per token)", Unit::plain) +
      one_curve(rows, "train", "actor/grad_norm", "Gradient norm", 4));
}

std::string moving_charts(const ReportInput& input) {
  std::string figures;
  std::size_t color = 0;
  for (const std::string prefix :
       {"moving/", "curriculum/", "greso/", "domain/rate/", "bandit/value/"})
    for (const auto& name : names_with(input.metrics, "train", prefix))
      figures += one_curve(input.metrics, "train", name,
                           prefix == "moving/" ? name.substr(prefix.size()) : name, color++);
  return grid(figures);
}

std::string time_charts(const ReportInput& input) {
  std::vector<Series> layers;
  for (std::size_t i = 0; i < std::size(kStages); ++i) {
    Series s = curve(input.metrics, "train", std::string("timing_s/") + kStages[i], kStages[i],
                     palette(i));
    if (!s.x.empty()) layers.push_back(std::move(s));
  }
  return grid(area_chart(steps("Seconds per step by stage", Unit::seconds), layers) +
              stage_totals(input.stage_seconds));
}

}  // namespace rollcall::report
