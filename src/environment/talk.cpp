// The addresses of a conversation's random numbers.
#include "environment/talk.hpp"

#include "base/numbers/random.hpp"

namespace rollcall::environment {

std::uint64_t step_seed(const Seeds& seeds, std::uint32_t turn) {
  constexpr unsigned kNotExact = 11;  // of 64 bits, which a double, JSON's number, does not hold
  return RandomStream(seeds.turns, RandomPurpose::environment, turn).bits(0) >> kNotExact;
}

}  // namespace rollcall::environment
