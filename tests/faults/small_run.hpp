// A run in miniature: what the stages do with the run folder, with the functions they do it with,
// but without a model. Some ten milliseconds long.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace rollcall::faults {

/// How much a run does. Every step publishes a shard and its scores; every second one a checkpoint,
/// after which its steps are packed when there are enough.
struct Extent {
  int steps = 4;
  int pack_every = 2;
};

/// Starts in the folder as `train --resume` does: lock, newest checkpoint that verifies, leftovers
/// removed, unfinished shards set aside. Then the run goes on from there to its end. Throws what
/// the store throws.
void run_to_end(const std::filesystem::path& run_dir, const Extent& extent);

/// What must be the same for every run that has come to its end: the hash of all rollouts, and of
/// the state.
std::string outcome(const std::filesystem::path& run_dir);

/// The start alone: steps that the state it found counts. Throws when that state, or the rollouts
/// of these steps, are not those of an undisturbed run.
int recovered_steps(const std::filesystem::path& run_dir);

}  // namespace rollcall::faults
