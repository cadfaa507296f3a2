// rollcall simulate: runs schedulers against the same synthetic learner, with results as a table
// and a picture; with --scale, simulates a step of a job on many ranks.
#include "app/commands.hpp"
#include "app/runs/simulate_scale.hpp"
#include "app/tables/scheduler_settings.hpp"
#include "base/errors/log.hpp"
#include "base/errors/nearest.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/files/output_file.hpp"
#include "report/svg_sheet.hpp"
#include "scheduling/prompts/mean_interval.hpp"
#include "scheduling/schedulers.hpp"
#include "scheduling/trace/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

namespace rollcall::app {
namespace {

using scheduling::Simulation;
using scheduling::SimulationPoint;

struct Flags {
  std::vector<std::string> policies = {"uniform", "uniform_sqrt"};
  std::vector<std::string> assignments;
  Simulation simulation;
  std::uint64_t seeds = 1;
  std::string out = "simulation.svg";
};

/// A scheduler with its settings, and its simulated runs.
struct Contender {
  std::string name;  // as given in the flag
  PolicySettings settings;
  std::vector<std::vector<SimulationPoint>> curves{};  // [seeds] curves
};

using Coordinate = std::function<double(const SimulationPoint&)>;
double pass_rate(const SimulationPoint& p) { return p.pass_rate; }
double hardest_fifth(const SimulationPoint& p) { return p.hardest_fifth; }
double equal_groups(const SimulationPoint& p) {
  return p.groups > 0 ? double(p.zero_variance) / double(p.groups) : std::nan("");
}

/// Settings of --set, and for each of them whether it names a piece or is a knob that some
/// scheduler has.
struct SharedSettings {
  std::vector<std::string> assignments;
  std::vector<bool> used;
  std::set<std::string> knobs{};  // knobs of all schedulers
};

std::string key_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

/// Reads "ROW key=value ...": settings of only this scheduler, which override the shared ones.
/// Pieces are read first, because they decide which knobs there are.
Contender read_policy(const std::string& flag, SharedSettings& shared) {
  Contender contender{.name = flag, .settings = {}};
  PolicySettings& settings = contender.settings;
  std::istringstream words(flag);
  words >> settings.choice.row;
  const std::vector<std::string> own(std::istream_iterator<std::string>(words), {});
  for (const auto* assignments : {&std::as_const(shared.assignments), &own}) {
    for (const auto& assignment : *assignments) {
      if (PolicySettings::names_piece(assignment)) settings.set(assignment);
    }
  }
  const auto knobs = scheduling::knob_names(settings.choice);
  shared.knobs.insert(knobs.begin(), knobs.end());
  for (std::size_t i = 0; i < shared.assignments.size(); ++i) {
    if (std::find(knobs.begin(), knobs.end(), key_of(shared.assignments[i])) == knobs.end())
      continue;
    settings.set(shared.assignments[i]);
    shared.used[i] = true;
  }
  for (const auto& assignment : own) {
    if (!PolicySettings::names_piece(assignment)) settings.set(assignment);
  }
  require<ConfigError>(!settings.seed, fmt::format("--policy {} sets a seed of its own", flag),
                       "prompts and answers are addressed by the seed too", "give --seed");
  return contender;
}

/// Reads all schedulers, so that errors in any of them are reported before the first one runs.
std::vector<Contender> read_policies(const Flags& flags) {
  SharedSettings shared{.assignments = flags.assignments, .used = {}};
  for (const auto& assignment : flags.assignments) {
    PolicySettings read;
    read.set(assignment);
    require<ConfigError>(!read.seed, fmt::format("--set {}", assignment),
                         "prompts and answers are addressed by the seed too", "give --seed");
    shared.used.push_back(PolicySettings::names_piece(assignment));
  }
  std::vector<Contender> contenders;
  for (const auto& flag : flags.policies) {
    for (const auto& name : flag == "all" ? scheduling::policy_names() : std::vector{flag})
      contenders.push_back(read_policy(name, shared));
  }
  for (std::size_t i = 0; i < shared.used.size(); ++i) {
    if (shared.used[i]) continue;
    const std::string nearest =
        suggest_name(key_of(shared.assignments[i]), {shared.knobs.begin(), shared.knobs.end()});
    throw ConfigError(error_message(
        fmt::format("--set {}: none of the policies has this knob", shared.assignments[i]),
        "it would change nothing, and rollcall schedulers NAME says which knobs a policy has",
        shared.knobs.empty() ? "remove it" : nearest));
  }
  for (const Contender& contender : contenders) {
    const auto policy =
        scheduling::make_scheduler(contender.settings.choice, contender.settings.knobs,
                                   scheduling::PromptTable{.level = {0}}, 0);
    for (const auto& warning : policy->traits().warnings)
      log_warning("{}: {}", contender.name, warning);
  }
  return contenders;
}

std::vector<double> ends(const Contender& contender, const Coordinate& what) {
  std::vector<double> values;
  for (const auto& curve : contender.curves) values.push_back(what(curve.back()));
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

/// As a percentage, with the 95 % interval of the mean if there are several seeds.
std::string percent(const std::vector<double>& shares, const char* format) {
  std::string text = fmt::format(fmt::runtime(format), 100 * mean(shares));
  if (shares.size() > 1)
    text += fmt::format(" +-{:.2f}", 100 * scheduling::half_width(double(shares.size()),
                                                                  scheduling::deviation(shares)));
  return text;
}

/// The gain over the first scheduler, compared seed by seed.
std::string gain(const Contender& contender, const Contender& first, const Coordinate& what) {
  std::vector<double> difference = ends(contender, what);
  const std::vector<double> base = ends(first, what);
  for (std::size_t i = 0; i < base.size(); ++i) difference[i] -= base[i];
  return percent(difference, "{:+.2f}");
}

std::string row(const Contender& contender, const Contender& first, std::size_t width) {
  const double drawn = mean(ends(contender, [](const auto& p) { return double(p.drawn); }));
  return fmt::format(
      "{:<{}} {:>14} {:>14} {:>14} {:>14} {:>7.2f} {:>14.5f} {:>10.0f} {:>10.0f}\n", contender.name,
      width, percent(ends(contender, pass_rate), "{:.2f}"), gain(contender, first, pass_rate),
      percent(ends(contender, hardest_fifth), "{:.2f}"), gain(contender, first, hardest_fifth),
      100 * mean(ends(contender, equal_groups)),
      mean(ends(contender, [](const auto& p) { return p.signal / double(p.drawn); })), drawn,
      mean(ends(contender, [](const auto& p) { return double(p.trained); })));
}

/// The curves of the schedulers, as means over the seeds.
report::SheetPanel panel(const std::vector<Contender>& contenders, const report::ChartText& text,
                         const Coordinate& x, const Coordinate& y) {
  report::SheetPanel made{text, {}};
  for (const Contender& contender : contenders) {
    report::Series s{contender.name, report::sheet_color(made.series.size()), {}, {}};
    for (std::size_t i = 0; i < contender.curves.front().size(); ++i) {
      std::vector<double> xs, ys;
      for (const auto& curve : contender.curves)
        xs.push_back(x(curve[i])), ys.push_back(y(curve[i]));
      s.x.push_back(mean(xs)), s.y.push_back(mean(ys));
    }
    made.series.push_back(std::move(s));
  }
  return made;
}

std::string picture(const Flags& flags, const std::vector<Contender>& contenders) {
  const Coordinate step = [](const auto&p) { return double(p.step); },
                   drawn = [](const auto&p) { return double(p.drawn); };
  constexpr auto kShare = report::Unit::share;
  const std::vector<report::SheetPanel> panels = {
      panel(contenders, {"Mean pass rate", "", "step", kShare}, step, pass_rate),
      panel(contenders, {"Mean pass rate of the hardest fifth", "", "step", kShare}, step,
            hardest_fifth),
      panel(contenders, {"Mean pass rate, by what it cost", "", "rollouts drawn", kShare}, drawn,
            pass_rate),
      panel(contenders, {"Share of groups with equal rewards, so far", "", "step", kShare}, step,
            equal_groups),
  };
  const auto& s = flags.simulation;
  const std::string seeds = flags.seeds > 1 ? fmt::format(", means of {} seeds", flags.seeds) : "";
  return report::svg_sheet(
      fmt::format("Synthetic learner: {} prompts, {} steps of {} x {}{}", s.prompts, s.steps,
                  s.prompts_per_step, s.rollouts_per_prompt, seeds),
      panels);
}

void check(const Simulation& s) {
  require<ConfigError>(
      s.min_rollouts <= s.rollouts_per_prompt && s.rollouts_per_prompt <= s.max_rollouts,
      fmt::format("--rollouts {} with --min-rollouts {} and --max-rollouts {}",
                  s.rollouts_per_prompt, s.min_rollouts, s.max_rollouts),
      "the mean must lie between the bounds", "change one of them");
  require<ConfigError>(
      std::uint64_t(s.prompts_per_step) <= s.prompts,
      fmt::format("--prompts-per-step {} exceeds --prompts {}", s.prompts_per_step, s.prompts),
      "a step chooses among the prompts", "raise --prompts");
}

ExitCode run(const Flags& flags) {
  start_log("warn", 0, 1);
  check(flags.simulation);
  auto contenders = read_policies(flags);
  std::vector<scheduling::Population> populations;
  for (std::uint64_t i = 0; i < flags.seeds; ++i)
    populations.push_back(
        scheduling::make_population(flags.simulation.prompts, flags.simulation.seed + i));
  require_output_file(flags.out, "<svg ");
  std::size_t width = 0;
  for (const Contender& contender : contenders) width = std::max(width, contender.name.size());
  std::cout << visible_format("{:<{}} {:>14} {:>14} {:>14} {:>14} {:>7} {:>14} {:>10} {:>10}\n",
                              "policy", width, "pass rate %", "gain", "hardest %", "gain",
                              "equal %", "signal/rollout", "drawn", "trained");
  for (Contender& contender : contenders) {
    for (const auto& population : populations) {
      Simulation simulation = flags.simulation;
      simulation.seed += contender.curves.size();
      const auto policy = scheduling::make_scheduler(
          contender.settings.choice, contender.settings.knobs, population, simulation.seed);
      contender.curves.push_back(scheduling::simulate(*policy, population, simulation));
    }
    std::cout << row(contender, contenders.front(), width) << std::flush;
  }
  write_file_atomic(flags.out, picture(flags, contenders));
  std::cout
      << visible_format(
             "gain: over {}; {}what the learner can and cannot tell: src/scheduling/SIMULATION.md; "
             "picture {}\n",
             contenders.front().name,
             flags.seeds > 1 ? "+-: 95 % interval of the mean over seeds; " : "", flags.out)
      << std::flush;
  return ExitCode::done;
}

constexpr const char* kFooter =
    R"(--policy is a row of the table, "all" of them, or a row with its own settings, in quotes: --policy "rollout_gdro control=constant".
--set applies to every policy that has the knob, and is refused if none has it; sampler=, allocator=, rounds= and selection= replace pieces of all policies.
--scale --from RUN --check RUN: costs are fitted to the first and tried on the second (benchmarks/scaling/run makes such runs), then 10^3 to 10^5 ranks are predicted.)";

}  // namespace

void add_simulate(Command program) {
  auto flags = std::make_shared<Flags>();
  Simulation& s = flags->simulation;
  auto command = program.command(
      "simulate",
      "policies against the same synthetic learner, or with --scale a job on up to 10^6 ranks: "
      "tables in seconds");
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* meaning) {
    return command.option(name, values, meaning).repeated();
  };
  const auto count = [&](const char* name, auto& value, double low, double high,
                         const char* meaning) {
    using T = std::decay_t<decltype(value)>;
    command.option(name, value, meaning).range(T(low), T(high)).default_shown();
  };
  list("--policy", flags->policies,
       "row of the table, with settings of its own in quotes, or all; may be repeated")
      .default_shown();
  list("--set", flags->assignments,
       "knob=value, sampler=, allocator=, rounds=, selection= of the policies; may be repeated");
  count("--prompts", s.prompts, 5, 0xFFFFFFFF, "training prompts");
  count("--prompts-per-step", s.prompts_per_step, 1, 1e6, "prompts of a step");
  count("--rollouts", s.rollouts_per_prompt, 1, 1e6, "mean rollouts a prompt");
  count("--min-rollouts", s.min_rollouts, 1, 1e6, "fewest rollouts of a prompt");
  count("--max-rollouts", s.max_rollouts, 1, 1e6, "most rollouts of a prompt");
  count("--steps", s.steps, 1, 1e6, "steps");
  count("--seeds", flags->seeds, 1, 1000,
        "runs of each policy, counting up from --seed: means with 95 % intervals");
  command.option("--out", flags->out, "picture to write").default_shown();
  auto scale = std::make_shared<ScaleFlags>();
  add_scale(command, *scale);
  command
      .option("--seed", s.seed,
              "seed of prompts, answers, learner and policies; with --scale of the lengths")
      .default_shown();
  command.footer(kFooter);
  command.runs([flags, scale] {
    scale->seed = flags->simulation.seed;
    return scale->on ? simulate_scale(*scale) : run(*flags);
  });
}

}  // namespace rollcall::app
