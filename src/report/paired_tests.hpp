// Did training change what it was asked for? Paired tests of an evaluation before and after,
// corrected for how many are asked.
#pragma once

#include "report/evaluation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::report {

/// One question: a gain over prompts and its p.
struct PairedTest {
  std::string measure;  ///< pass_at_1, pass_at_8, pass_at_1_level_3
  double gain = 0.0;    ///< mean of after - before over prompts
  double p = 1.0;  ///< two-sided, of a gain of 0 in truth, by flipping the sign of each prompt's
                   ///< difference (Fisher 1935); least value 1 / (draws + 1)
  double p_holm = 1.0;  ///< the same corrected for all tests of the list (Holm 1979)
};

/// Two-sided p of a mean of 0 in truth. Up to 2^12 sign patterns are enumerated; of more, `draws`
/// are drawn at addresses of `seed`.
double sign_flip_p(const std::vector<double>& differences, std::int64_t draws, std::uint64_t seed);

/// p corrected for asking all of them (Holm 1979), in the order given: the chance of even one false
/// finding stays below the level.
std::vector<double> holm(const std::vector<double>& p);

/// pass@1, pass@k, and pass@1 of each level where there are several. The same prompts in the same
/// order; throws InputError.
std::vector<PairedTest> paired_tests(const std::vector<PromptOutcome>& before,
                                     const std::vector<PromptOutcome>& after, std::int64_t k,
                                     std::int64_t draws, std::uint64_t seed);

}  // namespace rollcall::report
