// Several worked solutions of one prompt: a question file may give a list, one of each teacher.
#pragma once

#include "core/rollout.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rollcall::task {

/// Stands between the solutions in Prompt::solution. U+001E is the record separator; a text that
/// holds it is refused where a list is read.
inline constexpr char kNextSolution = '\x1e';

/// Prompt::solution as the solutions that it holds, in the file's order; one that is empty where it
/// is.
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
