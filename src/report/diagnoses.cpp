// The table of diagnoses. A threshold is compared with a window of steps, so that one odd step
// means nothing, and is set far from the values of healthy runs.
#include "report/diagnoses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

namespace rollcall::report {
namespace {

constexpr std::size_t kWindow = 20;  // steps in the window
constexpr std::size_t kLeast = 10;   // fewest steps that it must have, because the first steps of a
                                     // run mean little

/// Looks up metrics in the window. The value is NaN if a metric is missing, and no comparison with
/// NaN is true.
class Window {
 public:
  Window(const RecentSteps& steps, const RunConfig& run)
      : config(run), first_(&steps.first()), all_(&steps.last()) {
    const std::size_t n = std::min(kWindow, all_->size());
    rows_.assign(all_->end() - std::ptrdiff_t(n), all_->end());
  }
  const RunConfig& config;

  double mean(const std::string& metric) const { return mean_of(rows_, metric); }
  double mean_at_start(const std::string& metric) const { return mean_of(*first_, metric); }
  /// By how much the metric's mean rose from the previous window to this one; NaN until both are
  /// full.
  double rise(const std::string& metric) const {
    if (all_->size() < 2 * kWindow) return std::numeric_limits<double>::quiet_NaN();
    const std::vector<MetricRow> earlier(all_->end() - std::ptrdiff_t(2 * kWindow),
                                         all_->end() - std::ptrdiff_t(kWindow));
    return mean(metric) - mean_of(earlier, metric);
  }
  double most(const std::string& metric) const {
    return fold(metric, [](double a, double b) { return std::max(a, b); });
  }
  double least(const std::string& metric) const {
    return fold(metric, [](double a, double b) { return std::min(a, b); });
  }
  /// Fraction of the steps with a value above the limit; NaN if no step has a value.
  double share_above(const std::string& metric, double limit) const {
    const auto values = values_of(rows_, metric);
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    return double(
               std::count_if(values.begin(), values.end(), [&](double v) { return v > limit; })) /
           double(values.size());
  }
  /// The most frequent value in the window, and the number of steps with it. If two are equally
  /// frequent, it is the smaller one.
  std::pair<double, std::size_t> most_frequent(const std::string& metric) const {
    std::map<double, std::size_t> steps;
    for (const double value : values_of(rows_, metric)) ++steps[value];
    const auto found =
        std::max_element(steps.begin(), steps.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (found == steps.end()) return {std::numeric_limits<double>::quiet_NaN(), 0};
    return *found;
  }
  std::size_t steps() const { return rows_.size(); }
  std::vector<std::string> names_with(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const auto& [name, value] : rows_.back().values)
      if (name.starts_with(prefix)) names.push_back(name);
    return names;
  }

 private:
  static std::vector<double> values_of(const std::vector<MetricRow>& rows,
                                       const std::string& metric) {
    std::vector<double> values;
    for (const auto& row : rows) {
      const auto found = std::find_if(row.values.begin(), row.values.end(),
                                      [&](const auto& entry) { return entry.first == metric; });
      if (found != row.values.end() && std::isfinite(found->second))
        values.push_back(found->second);
    }
    return values;
  }
  double fold(const std::string& metric, const std::function<double(double, double)>& pick) const {
    const auto values = values_of(rows_, metric);
    double kept = values.empty() ? std::numeric_limits<double>::quiet_NaN() : values.front();
    for (const double v : values) kept = pick(kept, v);
    return kept;
  }
  static double mean_of(const std::vector<MetricRow>& rows, const std::string& metric) {
    const auto values = values_of(rows, metric);
    if (values.size() * 2 < rows.size() || values.empty())
      return std::numeric_limits<double>::quiet_NaN();
    double sum = 0.0;
    for (const double v : values) sum += v;
    return sum / double(values.size());
  }

  const std::vector<MetricRow>*first_, *all_;
  std::vector<MetricRow> rows_;
};

double percent(double share) { return 100.0 * share; }
std::int64_t updates_a_step(const RunConfig& c) { return c.train.epochs * c.train.mini_batches; }

using Finding = std::optional<std::string>;

struct Rule {
  const char* name;
  DiagnosisKind kind;
  const char* when;    ///< the threshold in words, for DIAGNOSES.md
  const char* advice;  ///< what to do
  Finding (*look)(const Window&);
};

Finding equal_rewards(const Window& w) {
  const double share = w.mean("train/frac_reward_zero_std");
  if (!(share > 0.8)) return {};
  return fmt::format("{:.0f} % of the groups have equal rewards and teach nothing", percent(share));
}

Finding truncated(const Window& w) {
  const double share = w.mean("response_length/clip_ratio");
  if (!(share > 0.25)) return {};
  std::string limits =
      fmt::format("sampling.max_new_tokens = {}", w.config.sampling.max_new_tokens);
  if (!std::isnan(w.mean("turns/mean"))) {
    const std::int64_t all = w.config.environment.max_tokens, turn = w.config.sampling.turn_tokens;
    limits += all > 0 ? fmt::format(", at environment.max_tokens = {}", all)
                      : std::string(", at the positions of the model");
    if (turn > 0) limits += fmt::format(", or at sampling.turn_tokens = {}", turn);
  }
  return fmt::format("{:.0f} % of the answers are cut off at {}", percent(share), limits);
}

Finding entropy_collapse(const Window& w) {
  const double now = w.mean("actor/entropy"), start = w.mean_at_start("actor/entropy");
  if (!(now < 0.1 && now < 0.2 * start)) return {};
  return fmt::format(
      "the policy's entropy has fallen to {:.3f} nats a token, from {:.2f} at the start", now,
      start);
}

Finding format_only(const Window& w) {
  if (!(w.config.task.format_weight > 0)) return {};
  const double format = w.rise("critic/component/format/mean"),
               correct = w.rise("critic/component/correct/mean");
  if (!(format > 0.05 && correct < 0.01)) return {};
  return fmt::format(
      "the format reward rises (by {:.2f} over {} steps) while correctness does not ({:+.3f})",
      format, kWindow, correct);
}

Finding clipped_gradient(const Window& w) {
  const double limit = w.config.train.optimizer.max_grad_norm,
               share = w.share_above("actor/grad_norm", 5.0 * limit);
  if (!(limit > 0 && share > 0.5)) return {};
  return fmt::format(
      "the gradient is clipped to less than a fifth in {:.0f} % of the steps (mean norm {:.3g}, "
      "train.max_grad_norm = {:g})",
      percent(share), w.mean("actor/grad_norm"), limit);
}

Finding policy_stands_still(const Window& w) {
  const double spread = w.most("actor/ratio_max_last") - w.least("actor/ratio_min_last");
  if (!(updates_a_step(w.config) > 1 && spread < 1e-3)) return {};
  return fmt::format(
      "{} optimizer steps on the same rollouts leave the ratio within {:.1g} of 1: the learning "
      "rate moves nothing",
      updates_a_step(w.config), spread);
}

Finding ratio_far_from_one(const Window& w) {
  const double mean = w.mean("actor/ratio_mean");
  if (std::abs(mean - 1.0) > 0.1)
    return fmt::format(
        "the mean ratio of the policy to the one that sampled is {:.2f}: the rollouts are far off "
        "policy",
        mean);
  if (!(w.share_above("actor/ratio_max_last", 10.0) > 0.5)) return {};
  return fmt::format(
      "the largest ratio reaches {:.3g} within a step: its later updates are far off policy",
      w.mean("actor/ratio_max_last"));
}

Finding one_level(const Window& w) {
  const std::string prefix = "rollout_alloc/class_share/";
  const auto levels = w.names_with(prefix);
  if (levels.size() < 3) return {};
  for (const auto& level : levels) {
    if (const double share = w.mean(level); share > 0.5)
      return fmt::format("level {} takes {:.0f} % of the rollout budget, of {} levels",
                         level.substr(prefix.size()), percent(share), levels.size());
  }
  return {};
}

Finding repeated_prompts(const Window& w) {
  if (const double distinct = w.mean("train/distinct_prompts_share"); distinct < 0.5)
    return fmt::format("only {:.0f} % of a step's groups are of different prompts",
                       percent(distinct));
  if (const double epoch = w.most("train/epoch"); epoch > 10)
    return fmt::format(
        "each training prompt has been drawn {:.0f} times on average, which invites memorising",
        epoch);
  return {};
}

Finding generation_dominates(const Window& w) {
  const double share = w.mean("timing_s/generation") / w.mean("timing_s/step");
  if (!(share > 0.9)) return {};
  return fmt::format("generation takes {:.0f} % of a step", percent(share));
}

Finding one_rank_dominates(const Window& w) {
  const double idle = 1.0 - w.mean("timing_s/generation_mean") / w.mean("timing_s/generation");
  if (!(idle > 0.4)) return {};
  const auto [rank, steps] = w.most_frequent("perf/slowest_rank");
  return fmt::format(
      "ranks that generate are idle for {:.0f} % of that time, waiting for the slowest (in {} of "
      "{} steps rank {:.0f})",
      percent(idle), steps, w.steps(), rank);
}

Finding loss_near_zero(const Window& w) {
  const double loss =
                   std::max(std::abs(w.most("actor/pg_loss")), std::abs(w.least("actor/pg_loss"))),
               norm = w.mean("actor/grad_norm");
  if (!(loss < 1e-3 && norm > 0 && w.least("actor/ratio_min") == 1.0 &&
        w.most("actor/ratio_max") == 1.0))
    return {};
  return fmt::format(
      "the loss is {:.0e}, which is expected on policy: the ratio is 1 and a group's advantages "
      "sum to 0, but the gradient does not vanish (norm {:.2g})",
      loss, norm);
}

constexpr Rule kRules[] = {
    {"equal_rewards", DiagnosisKind::warning,
     "over 80 % of the groups have rewards that are all equal",
     "use prompts of more fitting difficulty, more rollouts a prompt, a longer warm start, or a "
     "policy that skips such prompts (scheduler.policy = \"dapo\")",
     equal_rewards},
    {"truncated", DiagnosisKind::warning, "over 25 % of the answers end at the token limit",
     "raise sampling.max_new_tokens, in conversations also environment.max_tokens or "
     "sampling.turn_tokens, or teach shorter answers in the warm start",
     truncated},
    {"entropy_collapse", DiagnosisKind::warning,
     "the entropy is below 0.1 nats a token and below a fifth of the first 10 steps'",
     "raise clip_high, add an entropy bonus, or lower train.lr", entropy_collapse},
    {"format_only", DiagnosisKind::warning,
     "with task.format_weight above 0, the format component rose by over 0.05 from one window to "
     "the next, and correctness by less than 0.01",
     "lower task.format_weight", format_only},
    {"clipped_gradient", DiagnosisKind::warning,
     "the gradient norm is over 5 times train.max_grad_norm in more than half of the steps",
     "raise train.max_grad_norm to the usual norm, or lower train.lr", clipped_gradient},
    {"policy_stands_still", DiagnosisKind::warning,
     "several optimizer steps a step, and the ratio's extremes after them within 0.001 of each "
     "other",
     "raise train.lr", policy_stands_still},
    {"ratio_far_from_one", DiagnosisKind::warning,
     "the mean ratio is further than 0.1 from 1, or the largest one after the last update of a "
     "step is above 10 in more than half of the steps",
     "lower train.lr, train.epochs or replay.max_staleness, or take a recipe with a decoupled "
     "correction (decoupled_token_is)",
     ratio_far_from_one},
    {"one_level", DiagnosisKind::warning,
     "of three or more levels, one takes over half of the rollouts",
     "see rollout_alloc in the report; change scheduler.policy or the mix of task levels",
     one_level},
    {"repeated_prompts", DiagnosisKind::warning,
     "under 50 % of a step's groups are of different prompts, or prompts were drawn over 10 times "
     "on average",
     "add training prompts or draw fewer a step", repeated_prompts},
    {"one_rank_dominates", DiagnosisKind::warning,
     "generating ranks wait for the slowest one over 40 % of the generation's time",
     "lower sampling.max_new_tokens, spread long prompts over more groups, or look at that node",
     one_rank_dominates},
    {"generation_dominates", DiagnosisKind::warning, "generation takes over 90 % of a step",
     "add ranks that generate, lower sampling.max_new_tokens, or train several mini-batches on "
     "each step",
     generation_dominates},
    {"loss_near_zero", DiagnosisKind::note,
     "on policy (the ratio is 1 throughout), the loss is below 0.001 while the gradient is not 0",
     "follow the reward and the pass rate instead", loss_near_zero},
};

}  // namespace

void RecentSteps::add(const MetricRow& row) {
  if (row.phase != "train") return;
  if (first_.size() < kFirst) first_.push_back(row);
  if (last_.size() == kLast) last_.erase(last_.begin());
  last_.push_back(row);
}

std::vector<Diagnosis> diagnose(const RecentSteps& steps, const RunConfig& config) {
  std::vector<Diagnosis> holding;
  if (steps.last().size() < kLeast) return holding;
  const Window window(steps, config);
  for (const Rule& rule : kRules) {
    if (holding.size() == kMostDiagnoses) break;
    if (auto what = rule.look(window))
      holding.push_back({rule.name, rule.kind, std::move(*what), rule.advice});
  }
  return holding;
}

std::vector<Diagnosis> DiagnosisLog::due(std::uint64_t step,
                                         const std::vector<Diagnosis>& holding) {
  std::vector<Diagnosis> due;
  std::erase_if(logged_at_, [&](const auto& entry) {
    return std::none_of(holding.begin(), holding.end(),
                        [&](const Diagnosis& d) { return d.name == entry.first; });
  });
  for (const auto& diagnosis : holding) {
    if (diagnosis.kind == DiagnosisKind::note) continue;
    const auto logged = logged_at_.find(diagnosis.name);
    if (logged != logged_at_.end() && step < logged->second + kAgain) continue;
    logged_at_[diagnosis.name] = step;
    due.push_back(diagnosis);
  }
  return due;
}

std::string diagnoses_table() {
  std::string table = "| name | kind | holds when | what to do |\n|---|---|---|---|\n";
  for (const Rule& rule : kRules)
    table +=
        fmt::format("| `{}` | {} | {} | {} |\n", rule.name,
                    rule.kind == DiagnosisKind::note ? "note" : "warning", rule.when, rule.advice);
  return table;
}

}  // namespace rollcall::report
