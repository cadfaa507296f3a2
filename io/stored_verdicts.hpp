// Verdicts, undecided or ended by a clock, of steps that were set aside: a run that draws these
// steps again repeats them from here, and judges none of them twice.
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
  std::string prompt, answer, response;  ///< what was judged
  Score score;
};

/// Those of run_dir/set_aside, earliest first. `unreadable` names files of scores that cannot be
/// read, each with the reason.
std::vector<StoredVerdict> verdicts_to_repeat(const std::filesystem::path& run_dir,
                                              std::vector<std::string>& unreadable);

}  // namespace rollcall::io
