// Stored verdicts from steps that were set aside, if they were undecided or ended by a time limit.
// A run that draws these steps again uses them, because judging again might give another verdict.
#pragma once

#include "core/rollout.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::io {

struct StoredVerdict {
  Purpose purpose = Purpose::train;
  GroupId group;
  std::uint32_t sample = 0;
  std::string prompt, answer, response;  ///< the texts that were judged
  Score score;
  FinishReason finish = FinishReason::stop;
  std::vector<TurnFacts> facts{};  ///< facts about the rollout's turns
};

/// The verdicts in run_dir/set_aside, earliest first. `unreadable` receives the score files that
/// cannot be read, each with the reason.
std::vector<StoredVerdict> verdicts_to_repeat(const std::filesystem::path& run_dir,
                                              std::vector<std::string>& unreadable);

}  // namespace rollcall::io
