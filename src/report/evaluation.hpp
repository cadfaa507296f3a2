// pass@k and maj@k of an evaluation, with bootstrap intervals.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rollcall::report {

/// Outcomes of the samples of one prompt.
struct PromptOutcome {
  std::int32_t level = 0;
  std::vector<std::uint8_t> correct;  ///< [n] 1 for each sample that is correct, else 0
  std::vector<std::string> answers;   ///< [n], or empty if answers were not kept
};

/// Unbiased estimate of pass@k from c correct among n samples, k <= n: 1 - C(n-c,k)/C(n,k) (Chen et
/// al. 2021, arXiv:2107.03374, eq. 1).
double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k);
/// Whether the most frequent answer among the first k samples is correct, as 0 or 1. Ties go to the
/// earliest answer, and an empty answer has no vote. As samples are exchangeable, the mean over
/// prompts estimates maj@k without bias. NaN if answers were not kept, or if a correct sample has
/// none: then the verifier does not report answers, and there is no vote.
double majority_at_k(const PromptOutcome& outcome, std::int64_t k);

struct Interval {
  double mean = 0.0, low = 0.0, high = 0.0;  ///< 95 % percentile bootstrap over prompts
};

struct LevelResult {
  std::int32_t level = 0;
  std::int64_t prompts = 0;
  double pass_at_1 = 0.0, pass_at_k = 0.0;
};

struct Evaluation {
  std::int64_t prompts = 0, samples = 0, k = 0;  ///< number of prompts, total number of their
                                                 ///< samples, and the k in pass@k
  Interval pass_at_1, pass_at_k, majority_at_k;
  std::vector<LevelResult> levels;  ///< ascending
  std::string extract;  ///< how answers were found (text/answer/extract.hpp); empty: unknown
};

/// Throws InputError if there are no outcomes, or if a prompt has fewer than k samples.
Evaluation evaluate(const std::vector<PromptOutcome>& outcomes, std::int64_t k,
                    std::int64_t resamples, std::uint64_t seed);
/// Mean gain in pass@k, after - before, with an interval from a paired bootstrap over prompts. Both
/// lists have the same prompts in the same order.
Interval paired_gain(const std::vector<PromptOutcome>& before,
                     const std::vector<PromptOutcome>& after, std::int64_t k,
                     std::int64_t resamples, std::uint64_t seed);

/// Keys pass_at_1, pass_at_8 (with k in the name), maj_at_8 and levels; intervals as *_ci95. A
/// maj@k that is not defined is null.
std::string to_json(const Evaluation& e);
/// Two evaluations side by side as a table for people, by level, with the rollouts that training
/// spent on each level.
std::string to_table(const Evaluation& before, const Evaluation& after,
                     const std::map<std::int32_t, std::int64_t>& rollouts_per_level);

}  // namespace rollcall::report
