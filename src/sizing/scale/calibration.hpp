// The costs of the parts of a step on a machine. They are fitted to measured runs by simulating
// them, so that shared cores and waits are part of the fit.
#pragma once

#include "core/run_config.hpp"
#include "sizing/scale/job_step.hpp"

#include <string>
#include <vector>

namespace rollcall::sizing::scale {

/// A run and the duration of its steps: medians over the steps [s].
struct MeasuredRun {
  std::string name;
  Cluster cluster;
  Workload work;
  StepTimes times;  ///< medians over the steps [s]; `times.ranks` is empty
};

/// Reads a run folder whose settings are `config`. `cores` is the number of cores of the machine,
/// which all ranks shared. `seed` is used to draw response lengths in the simulation. The first
/// steps do not count. Throws InputError.
MeasuredRun read_measured_run(const std::string& run_dir, const RunConfig& config, int cores,
                              std::uint64_t seed);

/// Joins runs with the same layout, ranks, threads, rollouts and weights into one, with the name of
/// the first and the medians of their times.
std::vector<MeasuredRun> medians_of_cases(const std::vector<MeasuredRun>& runs);

struct CostName {
  const char *name, *unit, *meaning;
  double Costs::*value;
};
const std::vector<CostName>& cost_names();

/// Fits the costs by least squares over generation, archive, update and step, each relative to the
/// run's step. Costs stay positive. A cost stays at its default if the runs give no evidence about
/// it. Deterministic. Throws InputError if there are no runs.
Costs fit(const std::vector<MeasuredRun>& runs);

}  // namespace rollcall::sizing::scale
