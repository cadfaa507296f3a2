// pass@k and maj@k with bootstrap intervals.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rollcall::report {

/// Outcomes of one prompt's samples.
struct PromptOutcome {
  std::int32_t level = 0;
  std::vector<std::uint8_t> correct;  ///< [n]
  std::vector<std::string> answers;   ///< [n] or empty
};

/// Unbiased pass@k of c correct among n samples, 1 - C(n-c,k)/C(n,k) (Chen et al. 2021,
/// arXiv:2107.03374, eq. 1). k <= n.
double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k);
/// Correctness, 0 or 1, of the most frequent answer among the first k samples; ties go to the
/// earliest answer, an empty answer is no vote. Samples are exchangeable, so its mean over prompts
/// estimates maj@k without bias. NaN when the answers were not kept.
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
  std::int64_t prompts = 0, samples = 0, k = 0;  ///< samples over all prompts
  Interval pass_at_1, pass_at_k, majority_at_k;
  std::vector<LevelResult> levels;  ///< ascending
  std::string extract;  ///< how answers were found (text/answer/extract.hpp); empty: not said
};

/// Throws InputError for no outcomes or fewer than k samples of a prompt.
Evaluation evaluate(const std::vector<PromptOutcome>& outcomes, std::int64_t k,
                    std::int64_t resamples, std::uint64_t seed);
/// Paired bootstrap over prompts of after - before in pass@k (k = 1: pass@1). Same prompts in the
/// same order.
Interval paired_gain(const std::vector<PromptOutcome>& before,
                     const std::vector<PromptOutcome>& after, std::int64_t k,
                     std::int64_t resamples, std::uint64_t seed);

std::string to_json(const Evaluation& e);  ///< keys pass_at_1, pass_at_8 (the k in the name),
                                           ///< maj_at_8, levels, intervals as *_ci95
/// for people
std::string to_table(const Evaluation& before, const Evaluation& after,
                     const std::map<std::int32_t, std::int64_t>& rollouts_per_level);

}  // namespace rollcall::report
