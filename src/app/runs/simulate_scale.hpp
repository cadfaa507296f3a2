// rollcall simulate --scale: a step of a job on many ranks, from the costs of measured runs.
#pragma once

#include "app/command_line.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::app {

struct ScaleFlags {
  bool on = false;
  std::vector<std::string> from, check;  ///< run folders
  int cores = 0;                         ///< of the machine that measured; 0: of this one
  std::vector<int> ranks{1000, 10000, 100000};
  std::int64_t rollouts_per_rank = 64;
  double larger = 1.0;  ///< times the weights
  int ranks_per_node = 64;
  double latency_us = 2.0, link_gbit = 200.0;  // of InfiniBand HDR between two nodes, as vendors
                                               // state it
  std::uint64_t seed = 1;
};

/// The learner's options, which the command has already, are refused beside --scale.
void add_scale(Command command, ScaleFlags& flags);
ExitCode simulate_scale(const ScaleFlags& flags);

}  // namespace rollcall::app
