// What grades the answers of a run.
#pragma once

#include "reward/verifier.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// The graders of a rank. Any thread may ask them.
struct Grading {
  std::optional<reward::Grader> grader;          ///< of the task's answers
  std::optional<reward::Grader> verdict_grader;  ///< grades the policy's verdicts on its own
                                                 ///< answers; only in a run with judge tasks
  /// Names of the parts of rewards that the run's environment may report. In scores they come after
  /// the components of the grader.
  std::vector<std::string> environment{};
};

}  // namespace rollcall::run
