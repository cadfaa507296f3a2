// Addressed random numbers: the value depends only on the address (seed, purpose, step, prompt,
// sample, index), never on the order of calls.
#pragma once

#include <array>
#include <cstdint>

namespace rollcall {

/// The purpose of a stream. Two purposes never share numbers.
enum class RandomPurpose : std::uint32_t {
  task = 1,
  init = 2,
  sampling = 3,
  schedule = 4,
  shuffle = 5,
  bootstrap = 6,
  test = 7,
  supervised = 8,
  objective = 9,
  replay = 10,
  experts = 11,
  guide = 12,
  verification = 13,
  forms = 14,
  thoughts = 15,
  self_judging = 16,
  token_draws = 17,
  environment = 18,
  second_pass = 19,
  forks = 20
};

/// One stream of Philox4x32-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3").
/// It has no state, so copies give the same numbers. The key and the upper half of the counter are
/// mixed from seed, purpose, step, prompt and sample. The lower half of the counter is `index`,
/// which counts tokens, draws or elements.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, RandomPurpose purpose, std::uint64_t step = 0,
               std::uint64_t prompt = 0, std::uint64_t sample = 0);
  std::uint64_t bits(std::uint64_t index) const;  ///< 64 uniform bits
  double uniform(std::uint64_t index) const;      ///< uniform in [0, 1), 53 bits
  double normal(std::uint64_t index) const;       ///< standard normal (Box-Muller)
  /// uniform in [0, n) for n > 0; the bias is below 2^-64 * n
  std::uint64_t below(std::uint64_t index, std::uint64_t n) const;

 private:
  std::array<std::uint64_t, 2> draw(std::uint64_t index) const;
  std::array<std::uint32_t, 2> key_;
  std::uint64_t address_;
};

}  // namespace rollcall
