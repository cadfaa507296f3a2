// rollcall simulate --scale: a step of a job on many ranks, simulated with the costs of measured
// runs.
#pragma once

#include "app/command_line.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::app {

struct ScaleFlags {
  bool on = false;
  std::vector<std::string> from, check;  ///< run folders: costs are fitted to the runs in `from`,
                                         ///< and the simulation is compared with the runs in
                                         ///< `check`
  int cores = 0;  ///< cores of the machine that was measured; 0 means the cores of this machine
  std::vector<int> ranks{1000, 10000, 100000};
  std::int64_t rollouts_per_rank = 64;
  double larger = 1.0;  ///< factor on the number of weights
  int ranks_per_node = 64;
  double latency_us = 2.0, link_gbit = 200.0;  // InfiniBand HDR between two nodes, as its vendors
                                               // state
  std::uint64_t seed = 1;
};

/// Adds the options of --scale. The command already has options of the learner, which are refused
/// together with --scale.
void add_scale(Command command, ScaleFlags& flags);
ExitCode simulate_scale(const ScaleFlags& flags);

}  // namespace rollcall::app
