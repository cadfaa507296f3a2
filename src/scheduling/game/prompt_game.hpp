// Prompt-GDRO: an adversary gives weight to the difficulty bins where the loss is high
// (arXiv:2601.19280, section 3.2).
#pragma once

#include "base/text/config.hpp"
#include "scheduling/prompts/bin_results.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::scheduling {

/// S_t(b) = (1 - beta) S_{t-1}(b) + beta * l_t(b)                  (12); l_t the bin's mean signal
/// (13), a bin without one keeps its score
/// w_t(b) = exp(eta clip(S_t(b), -C, C))                           (14)
/// q_t(b) = (1 - gamma) w_t(b) / sum_j w_t(j) + gamma / B          (15)
/// S_0 = 0, or S is the first l_t itself (`score_start` first, as in the released code).
/// q_eta maximises sum_b q(b) L_b + H(q) / eta. The maximum is the log-sum-exp surrogate of the
/// worst bin (Lemma 4.1).
class PromptGame {
 public:
  void bind(ConfigSchema& knobs);
  void learn(const BinResults& results);
  double score(std::size_t bin) const;                        ///< 0 before the bin's first signal
  double weight(std::size_t bin) const;                       ///< w_t of eq. 14
  double cap(double weight) const;                            ///< min(weight, w_max)
  double capped_weight(std::size_t bin) const;                ///< min(w_t, w_max) of eq. 16
  std::vector<double> probabilities(std::size_t bins) const;  ///< q_t of eq. 15
  /// [bins] q_t over the bins with present[b] > 0, 0 for all others. B and the sum of eq. 15 are
  /// over these bins as well.
  std::vector<double> probabilities(const std::vector<std::int64_t>& present) const;
  /// The number of bins with a score outside [-C, C]. Eq. 14 clips these scores.
  std::int64_t clipped() const;
  double eta() const { return eta_; }
  double gamma() const { return gamma_; }
  nlohmann::json save() const;
  /// Throws StorageError when the state has a different number of bins.
  void load(const nlohmann::json& state, std::size_t bins);

 private:
  double beta_ = 0.12, eta_ = 0.65, gamma_ = 0.01, weight_cap_ = 15.0;  // as in the released
                                                                        // launchers
  double score_cap_ = 3.0;    // C, a choice of this project: the released code clips z-scores at 3,
                              // but no launcher uses z-scores
  double share_floor_ = 1.0;  // a bin's signal is divided by max(its share of the groups, this):
                              // with 1, by 1
  std::string score_start_ = "zero";
  // saved state; NaN before a bin's first signal, empty before the first step
  std::vector<double> scores_;
};

}  // namespace rollcall::scheduling
