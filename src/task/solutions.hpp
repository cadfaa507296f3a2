// Several worked solutions of one prompt: a question file may give a list, for example one from
// each teacher.
#pragma once

#include "core/rollout.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rollcall::task {

/// Separates the solutions in Prompt::solution. U+001E is the record separator; text that contains
/// it is refused when a list is read.
inline constexpr char kNextSolution = '\x1e';

/// The solutions in Prompt::solution, in the file's order; a single empty one if it has none.
inline std::vector<std::string> solutions(const Prompt& prompt) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= prompt.solution.size();) {
    const std::size_t end =
        std::min(prompt.solution.find(kNextSolution, begin), prompt.solution.size());
    all.push_back(prompt.solution.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

}  // namespace rollcall::task
