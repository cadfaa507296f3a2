// A scheduler that flags describe: a row of the table, and settings key=value that change its
// pieces and knobs.
#pragma once

#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rollcall::app {

struct PolicySettings {
  scheduling::SchedulerChoice choice{};
  scheduling::Knobs knobs{};
  std::optional<std::uint64_t> seed{};
  bool hears_shaped = true;  ///< scheduler.hears: true for the recipe's reward, false for the
                             ///< verifier's
  /// Takes "key=value". The keys sampler, allocator, rounds and selection name pieces, seed is a
  /// number, and hears is `reward` or `verifier`. Any other key is a knob, which the piece with
  /// that knob checks.
  void set(const std::string& assignment);
  static bool names_piece(const std::string& assignment);
};

}  // namespace rollcall::app
