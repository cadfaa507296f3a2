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
  std::vector<std::string> from, check;  ///< run folders: costs are fitted to those of `from`; the
                                         ///< simulation is compared with those of `check`
  int cores = 0;  ///< cores of the machine that was measured; 0 means those of this one
  std::vector<int> ranks{1000, 10000, 100000};
  std::int64_t rollouts_per_rank = 64;
  double larger = 1.0;  ///< factor on the number of weights
  int ranks_per_node = 64;
  double latency_us = 2.0, link_gbit = 200.0;  // InfiniBand HDR between two nodes, as its vendors
                                               // state
  std::uint64_t seed = 1;
};

/// Adds the options of --scale. Options of the learner, which the command has already, are refused
/// together with it.
void add_scale(Command command, ScaleFlags& flags);
ExitCode simulate_scale(const ScaleFlags& flags);

}  // namespace rollcall::app
