// What the parts of a step cost on a machine: fitted to measured runs through the simulation
// itself, so that shared cores and waits are in the fit.
#pragma once

#include "core/run_config.hpp"
#include "sizing/scale/job_step.hpp"

#include <string>
#include <vector>

namespace rollcall::sizing::scale {

/// A run with what its steps took: medians over the steps [s].
struct MeasuredRun {
  std::string name;
  Cluster cluster;
  Workload work;
  StepTimes times;  ///< without ranks
};

/// Reads a run folder whose settings are `config`; `cores`: of the machine, all of which its ranks
/// shared; `seed`: of the lengths that the simulation draws. The first steps are not counted.
/// Throws InputError.
MeasuredRun read_measured_run(const std::string& run_dir, const RunConfig& config, int cores,
                              std::uint64_t seed);

/// Runs of the same layout, ranks, threads, rollouts and weights become one under the first one's
/// name, with medians of their times.
std::vector<MeasuredRun> medians_of_cases(const std::vector<MeasuredRun>& runs);

struct CostName {
  const char *name, *unit, *meaning;
  double Costs::*value;
};
const std::vector<CostName>& cost_names();

/// Least squares over generation, archive, update and step, each relative to the run's step; costs
/// stay positive. Costs that the runs say nothing of stay at their defaults. Deterministic. Throws
/// InputError for no runs.
Costs fit(const std::vector<MeasuredRun>& runs);

}  // namespace rollcall::sizing::scale
