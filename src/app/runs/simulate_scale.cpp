// Fits costs to measured runs, compares the simulation with other runs, predicts larger jobs and
// states its assumptions.
#include "app/runs/simulate_scale.hpp"

#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "comm/communicator.hpp"
#include "run/folder/run_folder.hpp"
#include "sizing/aggregators.hpp"
#include "sizing/scale/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace rollcall::app {
namespace {

namespace scale = sizing::scale;

/// Reads the measured runs. Repeated runs of one case are joined, because a single run is disturbed
/// by other work on its machine.
std::vector<scale::MeasuredRun> read_runs(const std::vector<std::string>& folders,
                                          const ScaleFlags& flags) {
  std::vector<scale::MeasuredRun> runs;
  const int cores = flags.cores > 0 ? flags.cores : comm::cores_available();
  for (const auto& folder : folders)
    runs.push_back(
        scale::read_measured_run(folder, run::read_run_folder(folder), cores, flags.seed));
  return scale::medians_of_cases(runs);
}

/// All runs must train the same model, because the costs of one say nothing about another.
void require_one_model(const std::vector<scale::MeasuredRun>& runs,
                       const scale::MeasuredRun& first) {
  for (const auto& run : runs) {
    require<InputError>(
        run.work.weights == first.work.weights && run.cluster.threads == first.cluster.threads,
        fmt::format("{} has {} weights and {} threads a rank, {} has {} and {}", run.name,
                    run.work.weights, run.cluster.threads, first.name, first.work.weights,
                    first.cluster.threads),
        "costs of a token hold for one model and one number of threads",
        "give runs that differ in ranks, layout and rollouts only");
  }
}

std::string costs_table(const scale::Costs& costs) {
  std::string text = fmt::format("{:<18} {:>12}  {:<12} {}\n", "cost", "fitted", "unit", "of");
  for (const auto& cost : scale::cost_names())
    text += fmt::format("{:<18} {:>12.4g}  {:<12} {}\n", cost.name,
                        (cost.unit == std::string("percent") ? 100.0 : 1e6) * costs.*cost.value,
                        cost.unit, cost.meaning);
  return text;
}

/// Prints simulated times next to measured times. Returns the largest relative error of a step.
double compare(const std::vector<scale::MeasuredRun>& runs, const scale::Costs& costs,
               const char* title) {
  std::cout << visible_format("\n{:<44} {:>14} {:>6} {:>9} {:>17} {:>17} {:>17} {:>21}\n", title,
                              "layout", "ranks", "rollouts", "generation [ms]", "archive [ms]",
                              "update [ms]", "step [ms]");
  double worst = 0.0;
  const auto pair = [](double simulated, double measured) {
    return fmt::format("{:.1f} / {:.1f}", 1e3 * simulated, 1e3 * measured);
  };
  for (const auto& run : runs) {
    const auto times = scale::simulate_step(run.cluster, run.work, costs);
    const double error = times.step / run.times.step - 1.0;
    worst = std::max(worst, std::abs(error));
    std::cout << visible_format(
        "{:<44} {:>14} {:>6} {:>9} {:>17} {:>17} {:>17} {:>14} {:>+5.1f}%\n", run.name,
        run.cluster.layout.name, run.cluster.layout.ranks, run.work.rollouts,
        pair(times.generation, run.times.generation), pair(times.archive, run.times.archive),
        pair(times.update, run.times.update), pair(times.step, run.times.step), 100 * error);
  }
  return worst;
}

/// Simulates a job like the first fitted run, with one core per thread.
scale::StepTimes predict(const ScaleFlags& flags, const scale::MeasuredRun& like,
                         const scale::Costs& costs, const std::string& layout, int ranks,
                         scale::Workload& work) {
  scale::Cluster cluster = like.cluster;
  cluster.layout = comm::make_layout(layout, ranks);
  cluster.ranks_per_node = flags.ranks_per_node,
  cluster.cores_per_node = flags.ranks_per_node * cluster.threads;
  cluster.latency_s = 1e-6 * flags.latency_us, cluster.bytes_per_s = 1e9 / 8 * flags.link_gbit;
  work.prompts = std::max<std::int64_t>(1, work.rollouts * like.work.prompts / like.work.rollouts);
  return scale::simulate_step(cluster, work, costs);
}

void print_predictions(const ScaleFlags& flags, const scale::MeasuredRun& like,
                       const scale::Costs& costs) {
  std::cout << visible_format(
      "\n{:<7} {:<14} {:>7} {:>11} {:>10} {:>12} {:>11} {:>8} {:>10} {:>9} {:>8} {:>12}\n",
      "scaling", "layout", "ranks", "rollouts", "step [s]", "rollouts/s", "efficiency", "compute",
      "imbalance", "exchange", "waiting", "columns [s]");
  scale::Workload share = like.work;
  share.rollouts = flags.rollouts_per_rank;
  // rollouts per second of a single rank
  const double alone =
      double(share.rollouts) / predict(flags, like, costs, "single", 1, share).step;
  for (const bool weak : {true, false}) {
    for (const char* layout : {"colocated", "disaggregated"}) {
      for (const int ranks : flags.ranks) {
        if (std::string(layout) == "disaggregated" && ranks < 4) continue;
        scale::Workload work = like.work;
        work.rollouts = flags.rollouts_per_rank * (weak ? ranks : flags.ranks.front());
        const auto times = predict(flags, like, costs, layout, ranks, work);
        const auto shares = times.shares();
        const double speed = double(work.rollouts) / times.step;
        std::cout << visible_format(
            "{:<7} {:<14} {:>7} {:>11} {:>10.3f} {:>12.0f} {:>10.1f}% {:>7.1f}% {:>9.1f}% "
            "{:>8.1f}% {:>7.1f}% {:>12.3f}\n",
            weak ? "weak" : "strong", layout, ranks, work.rollouts, times.step, speed,
            100 * speed / ranks / alone, 100 * shares.compute, 100 * shares.imbalance,
            100 * shares.exchange, 100 * shares.waiting, times.columns);
      }
    }
  }
}

std::string assumptions(const ScaleFlags& flags, const scale::MeasuredRun& like,
                        const scale::Costs& costs) {
  return fmt::format(R"(
efficiency: rollouts a second and rank, over one rank alone in a step of {} rollouts. columns: of the step, the time in which the
first update rank works on the columns of all rollouts, which more ranks do not shorten.
Assumed:
 1. The model of {}, {} times as large ({} weights, {} threads a rank), and its tokens, decoding steps and leaves as many times as expensive; lengths are drawn from its {} recorded responses, each on its own; groups of {}; the update runs {:.0f} % of their tokens.
 2. A core is as fast as where the runs were measured, and a node with all cores busy loses as much as that machine; each thread has a core of its own.
 3. {} ranks a node; between nodes {} us and {} Gbit/s a node, no contention elsewhere; collectives are trees whose bytes pass a node's link once.
    Where there are several nodes, a rank that waits for a message or in a collective looks twice a millisecond.
 4. Files are stored as fast for all ranks as for the ranks here: the parallel file system does not slow down. Ranks that update on
    what they have generated have a file for up to {} of a node, as where rules judge, written beside the update.
 5. Rank 0 sends plans one after the other; the update's plan names every file to the first update rank and to the one that reads it. A message costs it {:.0f} us: few ranks tell nothing of that, so it stays close to what was followed through one step of eight ranks.
 6. No step is packed, checkpointed or evaluated; no rank fails; one round a step.
 7. The objective takes the log-probs that are stored, in one update a step: no reference, teacher, critic, probes, replayed or
    experts' rollouts. Its work on the columns of a step grows with the rollouts as it does here.
 8. Memory is not looked at: `rollcall plan RUN.toml --ranks N` does that.
)",
                     flags.rollouts_per_rank, like.name, flags.larger, like.work.weights,
                     like.cluster.threads, like.work.lengths.size(),
                     like.work.rollouts / like.work.prompts, 100 * like.work.trained,
                     flags.ranks_per_node, flags.latency_us, flags.link_gbit,
                     sizing::kMostAggregated, 1e6 * costs.message);
}

}  // namespace

void add_scale(Command command, ScaleFlags& flags) {
  const std::vector<Option> of_learner = command.options();
  auto on = command.flag(
      "--scale", flags.on,
      "simulate a step of a job on many ranks instead, from the costs of measured runs");
  for (const Option option : of_learner) on.excludes(option);
  const auto add = [&](const char* name, auto& value, const char* meaning) {
    return command.option(name, value, meaning).needs(on);
  };
  add("--from", flags.from,
      "run folders to which costs are fitted: of one model, with several numbers of ranks");
  add("--check", flags.check, "run folders that are predicted and not fitted to");
  add("--cores", flags.cores,
      "cores that the ranks of these runs shared (default: those of this machine)")
      .range(1, 1 << 16);
  add("--ranks", flags.ranks, "numbers of ranks to predict, in ascending order")
      .range(1, 1 << 20)
      .comma_separated()
      .default_shown();
  add("--rollouts-per-rank", flags.rollouts_per_rank,
      "weak scaling: of a step; strong scaling has as many in all as the fewest ranks")
      .range(std::int64_t(1), std::int64_t(1) << 16)
      .default_shown();
  add("--larger", flags.larger,
      "predict a model of so many times the weights, whose tokens cost so many times as much")
      .range(1e-3, 1e6)
      .default_shown();
  add("--ranks-per-node", flags.ranks_per_node, "ranks on each node of the predicted job")
      .range(1, 1 << 12)
      .default_shown();
  add("--latency-us", flags.latency_us, "latency of a message between nodes [us]")
      .range(0.0, 1e6)
      .default_shown();
  add("--link-gbit", flags.link_gbit, "bandwidth of a node's link [Gbit/s]")
      .range(1e-3, 1e5)
      .default_shown();
}

ExitCode simulate_scale(const ScaleFlags& flags) {
  start_log("warn", 0, 1);
  require<ConfigError>(!flags.from.empty(), "--scale without --from",
                       "costs are fitted to measured runs",
                       "make some with benchmarks/scaling/run and give --from RUN ...");
  require<ConfigError>(
      std::is_sorted(flags.ranks.begin(), flags.ranks.end()), "--ranks is not in ascending order",
      "strong scaling shares out what the fewest ranks have", "give them in ascending order");
  const auto fitted = read_runs(flags.from, flags), checked = read_runs(flags.check, flags);
  require_one_model(fitted, fitted.front());
  require_one_model(checked, fitted.front());
  const scale::Costs costs = scale::fit(fitted);
  std::cout << costs_table(costs);
  compare(fitted, costs, "fitted to: simulated / measured");
  if (!checked.empty())
    std::cout << visible_format(
        "largest error of a step: {:.1f} %\n",
        100 * compare(checked, costs, "not fitted to: simulated / measured"));
  scale::MeasuredRun like = fitted.front();
  like.work.weights = std::int64_t(flags.larger * double(like.work.weights));
  scale::Costs predicted = costs;
  for (const auto cost : {&scale::Costs::decode_step, &scale::Costs::decode_token,
                          &scale::Costs::train_token, &scale::Costs::micro_batch})
    predicted.*cost *= flags.larger;
  print_predictions(flags, like, predicted);
  std::cout << assumptions(flags, like, costs) << std::flush;
  return ExitCode::done;
}

}  // namespace rollcall::app
