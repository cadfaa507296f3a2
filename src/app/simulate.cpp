// rollcall simulate: policies against the same synthetic learner, as a table and a picture.
#include "app/commands.hpp"
#include "base/file.hpp"
#include "report/svg_sheet.hpp"
#include "scheduling/simulation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <memory>

namespace rollcall::app {
namespace {

using scheduling::Simulation;
using scheduling::SimulationPoint;

struct Flags {
  std::vector<std::string> policies = {"uniform", "uniform_sqrt"};
  Simulation simulation;
  std::string out = "simulation.svg";
};

using Coordinate = std::function<double(const SimulationPoint&)>;

report::SheetPanel panel(const Flags& flags, const std::vector<std::vector<SimulationPoint>>& curves, const report::ChartText& text, const Coordinate& x,
                         const Coordinate& y) {
  report::SheetPanel made{text, {}};
  for (std::size_t i = 0; i < curves.size(); ++i) {
    report::Series s{flags.policies[i], report::sheet_color(i), {}, {}};
    for (const auto& point : curves[i]) s.x.push_back(x(point)), s.y.push_back(y(point));
    made.series.push_back(std::move(s));
  }
  return made;
}

std::string picture(const Flags& flags, const std::vector<std::vector<SimulationPoint>>& curves) {
  const Coordinate step = [](const auto&p) { return double(p.step); }, drawn = [](const auto&p) { return double(p.drawn); };
  const Coordinate all = [](const auto&p) { return p.pass_rate; }, hard = [](const auto&p) { return p.hardest_fifth; };
  const Coordinate equal = [](const auto& p) { return p.groups > 0 ? double(p.zero_variance) / double(p.groups) : std::nan(""); };
  constexpr auto kShare = report::Unit::share;
  const std::vector<report::SheetPanel> panels = {
      panel(flags, curves, {"Mean pass rate", "", "step", kShare}, step, all),
      panel(flags, curves, {"Mean pass rate of the hardest fifth", "", "step", kShare}, step, hard),
      panel(flags, curves, {"Mean pass rate, by what it cost", "", "rollouts drawn", kShare}, drawn, all),
      panel(flags, curves, {"Share of groups with equal rewards, so far", "", "step", kShare}, step, equal),
  };
  const auto& s = flags.simulation;
  return report::svg_sheet(fmt::format("Synthetic learner: {} prompts, {} steps of {} x {}", s.prompts, s.steps, s.prompts_per_step, s.rollouts_per_prompt),
                           panels);
}

ExitCode run(const Flags& flags) {
  const auto population = scheduling::make_population(flags.simulation);
  std::vector<std::vector<SimulationPoint>> curves;
  std::cout << fmt::format("{:<24} {:>9} {:>14} {:>13} {:>15} {:>10} {:>10}\n", "policy", "pass rate", "hardest fifth", "equal groups", "signal/rollout",
                           "drawn", "trained");
  for (const auto& name : flags.policies) {
    const auto policy = scheduling::make_policy({.row = name}, {}, population.table, flags.simulation.seed);
    curves.push_back(scheduling::simulate(*policy, population, flags.simulation));
    const SimulationPoint& end = curves.back().back();
    std::cout << fmt::format("{:<24} {:>8.2f}% {:>13.2f}% {:>12.2f}% {:>15.5f} {:>10} {:>10}\n", name, 100 * end.pass_rate, 100 * end.hardest_fifth,
                             100 * double(end.zero_variance) / double(end.groups), end.signal / double(end.drawn), end.drawn, end.trained)
              << std::flush;
  }
  write_file_atomic(flags.out, picture(flags, curves));
  std::cout << fmt::format("picture {}; what the learner can tell and what not: src/scheduling/SIMULATION.md\n", flags.out) << std::flush;
  return ExitCode::done;
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  Simulation& s = flags->simulation;
  auto* command = app.add_subcommand("simulate", "policies against the same synthetic learner: a table and a picture, in seconds");
  command->add_option("--policy", flags->policies, "row of the table; may be repeated")->allow_extra_args(false)->take_all()->capture_default_str();
  command->add_option("--prompts", s.prompts, "training prompts")->check(CLI::Range(std::uint64_t{5}, std::uint64_t{0xFFFFFFFF}))->capture_default_str();
  command->add_option("--steps", s.steps, "steps")->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))->capture_default_str();
  command->add_option("--seed", s.seed, "of prompts, answers and policies")->capture_default_str();
  command->add_option("--out", flags->out, "picture to write")->capture_default_str();
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace rollcall::app
