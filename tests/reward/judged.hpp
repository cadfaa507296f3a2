// One response judged, and its verdict in one line.
#pragma once

#include "reward/verifier.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace rollcall::reward {

inline Score judged(const char* verifier, const std::string& reference, std::string_view response,
                    bool finished = true) {
  Prompt prompt;
  prompt.answer = reference;
  return Grader(find_verifier(verifier), TaskSection{}).score(prompt, response, finished);
}

/// "1 1 0.5 | B": the components and the answer; two decimals.
inline std::string verdict(const Score& score) {
  std::string text;
  for (const double c : score.components) text += fmt::format("{:.3g} ", c);
  return text + "| " + score.answer;
}

}  // namespace rollcall::reward
