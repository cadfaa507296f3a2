// What grades the answers of a run.
#pragma once

#include "reward/verifier.hpp"

#include <optional>

namespace rollcall::run {

/// The graders of a rank. Any thread may ask them.
struct Grading {
  std::optional<reward::Grader> grader;          ///< of the task's answers
  std::optional<reward::Grader> verdict_grader;  ///< grades the policy's verdicts on its own
                                                 ///< answers; only in a run with judge tasks
};

}  // namespace rollcall::run
