// Tests whether training changed the results: paired tests on an evaluation before and one after
// it, corrected for the number of tests.
#pragma once

#include "report/evaluation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::report {

/// One test: the gain over prompts, and its p-value.
struct PairedTest {
  std::string measure;  ///< such as pass_at_1, pass_at_8, pass_at_1_level_3
  double gain = 0.0;    ///< mean of (after - before) over prompts
  double p = 1.0;  ///< two-sided p-value of "the true gain is 0", from flipping the sign of each
                   ///< prompt's difference (Fisher 1935); at least 1 / (draws + 1) if patterns are
                   ///< drawn
  double p_holm = 1.0;  ///< p corrected for all tests in the list (Holm 1979)
};

/// Two-sided p-value of "the true mean is 0". Up to 2^12 patterns of signs are enumerated; if there
/// are more, `draws` patterns are drawn from addressed random numbers with this `seed`.
double sign_flip_p(const std::vector<double>& differences, std::int64_t draws, std::uint64_t seed);

/// p-values corrected for the number of tests (Holm 1979), in the order given. The chance of even
/// one false finding stays below the level.
std::vector<double> holm(const std::vector<double>& p);

/// Tests pass@1, pass@k and, if there are several levels, pass@1 for each level. Both lists have
/// the same prompts in the same order. Throws InputError otherwise.
std::vector<PairedTest> paired_tests(const std::vector<PromptOutcome>& before,
                                     const std::vector<PromptOutcome>& after, std::int64_t k,
                                     std::int64_t draws, std::uint64_t seed);

}  // namespace rollcall::report
