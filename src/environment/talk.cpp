// The addresses of a conversation's random numbers, and what its start may not be.
#include "environment/talk.hpp"

#include "base/numbers/random.hpp"

#include <algorithm>

namespace rollcall::environment {

std::uint64_t step_seed(const Seeds& seeds, std::uint32_t turn) {
  constexpr unsigned kNotExact = 11;  // of 64 bits, which a double, JSON's number, does not hold
  return RandomStream(seeds.turns, RandomPurpose::environment, turn).bits(0) >> kNotExact;
}

std::string wrong_start(const Answer& answer) {
  if (answer.done) return "it was over before its first turn";
  if (answer.correct.value_or(false)) return "it was correct before its first turn";
  const bool pays =
      answer.reward != 0.0 || std::any_of(answer.components.begin(), answer.components.end(),
                                          [](double component) { return component != 0.0; });
  return pays ? "it paid a reward before its first turn" : "";
}

}  // namespace rollcall::environment
