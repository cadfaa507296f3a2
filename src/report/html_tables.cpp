// The sections with large numbers, results by level, groups and settings.
#include "report/html_sections.hpp"
#include "report/html_text.hpp"
#include "report/number_text.hpp"
#include "report/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace rollcall::report {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const Evaluation* evaluation(const ReportInput& input, const char* when) {
  const auto found = input.evaluations.find(when);
  return found != input.evaluations.end() && found->second.prompts > 0 ? &found->second : nullptr;
}

std::string share(double value) {
  return std::isfinite(value) ? fmt::format("{:.1f}%", 100 * value) : "&ndash;";
}

std::string tile(const std::string& value, const std::string& meaning) {
  return fmt::format(R"(<div class="tile"><b>{}</b><span>{}</span></div>)", value, meaning);
}

/// A colour says whether a gain is good or bad. It is used only if the interval excludes 0.
const char* color_of(const Interval* gain) {
  if (gain == nullptr || (gain->low <= 0 && gain->high >= 0)) return "unclear";
  return gain->mean < 0 ? "down" : "up";
}

std::string result_tile(const std::string& name, const Interval* before, const Interval* after,
                        const Interval* gain) {
  if (before && !std::isfinite(before->mean)) before = nullptr;
  const Interval* shown = after ? after : before;
  if (!shown || !std::isfinite(shown->mean)) return "";
  if (!before || !after) return tile(share(shown->mean), name + (after ? "" : " before training"));
  const std::string within =
      gain == nullptr ? "" : fmt::format(" [{:+.1f}, {:+.1f}]", 100 * gain->low, 100 * gain->high);
  return tile(
      share(after->mean),
      fmt::format(R"({} &middot; from {} <span class="{}">{:+.1f} points{}</span>)", name,
                  share(before->mean), color_of(gain), 100 * (after->mean - before->mean), within));
}

struct Row {
  std::int64_t prompts = 0, rollouts = 0;
  double before_1 = kNone, after_1 = kNone, before_k = kNone, after_k = kNone;
};

std::map<std::int32_t, Row> level_rows(const Evaluation* before, const Evaluation* after,
                                       const ReportInput& input) {
  std::map<std::int32_t, Row> rows;
  if (before) {
    for (const auto& l : before->levels)
      rows[l.level].prompts = l.prompts, rows[l.level].before_1 = l.pass_at_1,
      rows[l.level].before_k = l.pass_at_k;
  }
  if (after) {
    for (const auto& l : after->levels)
      rows[l.level].prompts = l.prompts, rows[l.level].after_1 = l.pass_at_1,
      rows[l.level].after_k = l.pass_at_k;
  }
  for (const auto& [level, count] : input.rollouts_per_level) rows[level].rollouts = count;
  return rows;
}

std::string interval(const Interval* i) {
  return i && std::isfinite(i->mean) ? fmt::format(R"({} <span class="ci">[{}, {}]</span>)",
                                                   share(i->mean), share(i->low), share(i->high))
                                     : "&ndash;";
}

std::string numbers(const std::vector<std::string>& cells) {
  std::string out;
  for (const auto& cell : cells) out += fmt::format(R"(<td class="n">{}</td>)", cell);
  return out;
}

std::string level_table(const std::map<std::int32_t, Row>& rows, const Evaluation* before,
                        const Evaluation* after, std::int64_t k) {
  std::string body = fmt::format(
      R"(<tr><th class="n">level</th><th class="n">prompts</th><th class="n">pass@1 before</th><th class="n">after</th>)"
      R"(<th class="n">pass@{} before</th><th class="n">after</th><th class="n">rollouts spent</th></tr>)",
      k);
  std::int64_t spent = 0;
  for (const auto& [level, r] : rows) {
    spent += r.rollouts;
    body += fmt::format(
        "<tr>{}</tr>",
        numbers({fmt::format("{}", level), grouped(r.prompts), share(r.before_1), share(r.after_1),
                 share(r.before_k), share(r.after_k), grouped(r.rollouts)}));
  }
  const auto of = [](const Evaluation* e, Interval Evaluation::*which) {
    return interval(e ? &(e->*which) : nullptr);
  };
  const auto pass_1 = &Evaluation::pass_at_1, pass_k = &Evaluation::pass_at_k;
  const Evaluation* either = after ? after : before;
  body += fmt::format(
      R"(<tr class="all">{}</tr>)",
      numbers({"all", grouped(either ? either->prompts : 0), of(before, pass_1), of(after, pass_1),
               of(before, pass_k), of(after, pass_k), grouped(spent)}));
  return fmt::format(R"(<div class="card" style="margin-top:14px"><table>{}</table></div>)", body);
}

// The chart for one metric: a pair of bars per level, and a last pair, with intervals, for all
// prompts.
std::string level_bars(const std::string& title, const std::map<std::int32_t, Row>& rows,
                       double Row::*before, double Row::*after, const Interval* all_before,
                       const Interval* all_after) {
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
  if (all_before) series.push_back({"before", "var(--before)", {}});
  if (all_after) series.push_back({"after", "var(--c0)", {}});
  for (const auto& [level, row] : rows) {
    categories.push_back(fmt::format("{}", level));
    if (all_before) series.front().bars.push_back({row.*before});
    if (all_after) series.back().bars.push_back({row.*after});
  }
  categories.emplace_back("all");
  if (all_before)
    series.front().bars.push_back({all_before->mean, all_before->low, all_before->high});
  if (all_after) series.back().bars.push_back({all_after->mean, all_after->low, all_after->high});
  return bar_chart({title, "95 % bootstrap interval over all prompts", "level", Unit::share},
                   categories, series);
}

}  // namespace

std::string tiles(const ReportInput& input) {
  const Evaluation *before = evaluation(input, "before"), *after = evaluation(input, "after");
  const auto result = [&](const std::string& name, Interval Evaluation::*which) {
    const auto gain = input.gains.find(name);
    return result_tile(name, before ? &(before->*which) : nullptr,
                       after ? &(after->*which) : nullptr,
                       gain == input.gains.end() ? nullptr : &gain->second);
  };
  const std::int64_t k = after ? after->k : before ? before->k : 0;
  std::string out = result("pass@1", &Evaluation::pass_at_1);
  if (k > 1)
    out += result(fmt::format("pass@{}", k), &Evaluation::pass_at_k) +
           result(fmt::format("maj@{}", k), &Evaluation::majority_at_k);
  std::int64_t rollouts = 0;
  for (const auto& [level, count] : input.rollouts_per_level) rollouts += count;
  if (rollouts > 0) out += tile(grouped(rollouts), "training rollouts");
  const auto steps = std::count_if(input.metrics.begin(), input.metrics.end(),
                                   [](const MetricRow& r) { return r.phase == "train"; });
  if (steps > 0) out += tile(grouped(steps), "training steps");
  double seconds = 0.0;
  for (const auto& [stage, s] : input.stage_seconds) seconds += std::isfinite(s) ? s : 0.0;
  if (seconds > 0) out += tile(duration(seconds), "in all stages");
  return out.empty() ? "" : fmt::format("<div class=\"tiles\">{}</div>\n", out);
}

std::string level_results(const ReportInput& input) {
  const Evaluation *before = evaluation(input, "before"), *after = evaluation(input, "after");
  if (!before && !after) return "";
  const auto rows = level_rows(before, after, input);
  const std::int64_t k = after ? after->k : before->k;
  const auto bars = [&](const std::string& title, double Row::*b, double Row::*a,
                        Interval Evaluation::*all) {
    return level_bars(title, rows, b, a, before ? &(before->*all) : nullptr,
                      after ? &(after->*all) : nullptr);
  };
  std::string charts = bars("pass@1", &Row::before_1, &Row::after_1, &Evaluation::pass_at_1);
  if (k > 1)
    charts +=
        bars(fmt::format("pass@{}", k), &Row::before_k, &Row::after_k, &Evaluation::pass_at_k);
  return fmt::format(R"(<div class="charts">{}</div>)", charts) +
         level_table(rows, before, after, k);
}

std::string exhibits(const ReportInput& input) {
  std::string out;
  for (const auto& group : input.groups) {
    out += fmt::format(
        R"(<div class="card group"><h3>prompt</h3><pre>{}</pre><h3>reference answer</h3><pre>{}</pre><h3>{} responses with their rewards</h3>)",
        escape(group.prompt), escape(group.answer), group.responses.size());
    for (const auto& [text, reward] : group.responses) {
      out +=
          fmt::format(R"(<div class="response"><div class="reward{}">{}</div><pre>{}</pre></div>)",
                      reward > 0 ? " up" : "", compact(reward),
                      text.empty() ? R"(<span class="ci">(empty)</span>)" : escape(text));
    }
    out += "</div>\n";
  }
  return out;
}

std::string diagnoses(const ReportInput& input) {
  std::string body;
  for (const auto& d : input.diagnoses) {
    const std::string what = (d.kind == DiagnosisKind::note ? "Note: " : "") + d.what;
    body += fmt::format("<li title=\"{}\">{}; {}.</li>", escape(d.name), escape(what),
                        escape(d.advice));
  }
  return body.empty() ? "" : fmt::format(R"(<div class="card"><ul>{}</ul></div>)", body);
}

namespace {

std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string body;
  for (const auto& [name, value] : rows)
    body +=
        fmt::format(R"(<tr><td>{}</td><td class="mono">{}</td></tr>)", escape(name), escape(value));
  return body.empty()
             ? ""
             : fmt::format(R"(<div class="card"><table class="facts">{}</table></div>)", body);
}

}  // namespace

std::string facts(const ReportInput& input) { return two_columns(input.facts); }
std::string settings(const ReportInput& input) { return two_columns(input.settings); }

}  // namespace rollcall::report
