// Scores, exponential weights, and probabilities with uniform exploration.
#include "scheduling/game/prompt_game.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {

void PromptGame::bind(ConfigSchema& s) {
  s.bind("beta", &beta_, "share of a step in a bin's score", {0, 1});
  s.bind("eta", &eta_, "sharpness of the bins' weights", {0, 100});
  s.bind("gamma", &gamma_, "share of uniform exploration in the bins' probabilities", {0, 1});
  s.bind("weight_cap", &weight_cap_, "largest weight of a bin's advantages", {0, 1e6});
  s.bind("score_cap", &score_cap_, "scores count between minus and plus this", {0, 1e3});
  s.bind("share_floor", &share_floor_, "a bin's loss is divided by its share of the step, but by no less than this; 1: not at all", {1e-6, 1});
}

void PromptGame::learn(const BinResults& results) {
  scores_.resize(results.groups.size(), 0.0);
  const auto total = double(std::accumulate(results.groups.begin(), results.groups.end(), std::int64_t{0}));
  for (std::size_t b = 0; b < scores_.size(); ++b) {
    if (!std::isfinite(results.signal[b])) continue;
    const double loss = results.signal[b] / std::max(double(results.groups[b]) / total, share_floor_);
    scores_[b] = (1.0 - beta_) * scores_[b] + beta_ * loss;
  }
}

double PromptGame::weight(std::size_t bin) const { return std::exp(eta_ * std::clamp(score(bin), -score_cap_, score_cap_)); }

double PromptGame::capped_weight(std::size_t bin) const { return std::min(weight(bin), weight_cap_); }

std::vector<double> PromptGame::probabilities(std::size_t bins) const {
  // Relative to the largest exponent, so that no sharpness leaves the range of a double.
  std::vector<double> q(bins);
  for (std::size_t b = 0; b < bins; ++b) q[b] = eta_ * std::clamp(score(b), -score_cap_, score_cap_);
  const double most = *std::max_element(q.begin(), q.end());
  for (double& x : q) x = std::exp(x - most);
  const double sum = std::accumulate(q.begin(), q.end(), 0.0);
  for (double& x : q) x = (1.0 - gamma_) * x / sum + gamma_ / double(bins);
  return q;
}

nlohmann::json PromptGame::save() const { return {{"scores", scores_}}; }

void PromptGame::load(const nlohmann::json& state, std::size_t bins) {
  auto scores = state.at("scores").get<std::vector<double>>();
  require<StorageError>(scores.empty() || scores.size() == bins, fmt::format("saved scores of {} difficulty bins, not {}", scores.size(), bins),
                        "the run would not continue where it stopped", "resume with the knobs it was started with");
  scores_ = std::move(scores);
}

}  // namespace rollcall::scheduling
