// Scores, exponential weights, and probabilities with uniform exploration.
#include "scheduling/game/prompt_game.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rollcall::scheduling {

void PromptGame::bind(ConfigSchema& s) {
  s.bind("beta", &beta_, "share of a step in a bin's score", {0, 1});
  s.bind("eta", &eta_, "sharpness of the bins' weights", {0, 100});
  s.bind("gamma", &gamma_, "share of uniform exploration in the bins' probabilities", {0, 1});
  s.bind("weight_cap", &weight_cap_, "largest weight of a bin's advantages", {0, 1e6});
  s.bind("score_cap", &score_cap_, "scores count between minus and plus this", {0, 1e3});
  s.bind(
      "share_floor", &share_floor_,
      "a bin's loss is divided by its share of the step, but by no less than this; 1: not at all",
      {1e-6, 1});
  s.bind(
      "score_start", &score_start_,
      "a bin's score starts from zero and approaches its signals, or is its first signal at once",
      {}, {"zero", "first"});
}

void PromptGame::learn(const BinResults& results) {
  scores_.resize(results.groups.size(), NAN);
  const auto total =
      double(std::accumulate(results.groups.begin(), results.groups.end(), std::int64_t{0}));
  for (std::size_t b = 0; b < scores_.size(); ++b) {
    if (!std::isfinite(results.signal[b])) continue;
    const double loss =
        results.signal[b] / std::max(double(results.groups[b]) / total, share_floor_);
    scores_[b] = std::isnan(scores_[b]) && score_start_ == "first"
                     ? loss
                     : (1.0 - beta_) * score(b) + beta_ * loss;
  }
}

double PromptGame::score(std::size_t bin) const {
  return bin < scores_.size() && !std::isnan(scores_[bin]) ? scores_[bin] : 0.0;
}

std::int64_t PromptGame::clipped() const {
  return std::count_if(scores_.begin(), scores_.end(),
                       [this](double score) { return std::abs(score) > score_cap_; });
}

double PromptGame::weight(std::size_t bin) const {
  return std::exp(eta_ * std::clamp(score(bin), -score_cap_, score_cap_));
}

double PromptGame::cap(double weight) const { return std::min(weight, weight_cap_); }

double PromptGame::capped_weight(std::size_t bin) const { return cap(weight(bin)); }

std::vector<double> PromptGame::probabilities(std::size_t bins) const {
  return probabilities(std::vector<std::int64_t>(bins, 1));
}

std::vector<double> PromptGame::probabilities(const std::vector<std::int64_t>& present) const {
  // Relative to the largest exponent, so that no value of eta exceeds the range of a double.
  std::vector<double> q(present.size());
  double most = -std::numeric_limits<double>::infinity(), sum = 0.0, bins = 0.0;
  for (std::size_t b = 0; b < q.size(); ++b) {
    q[b] = eta_ * std::clamp(score(b), -score_cap_, score_cap_);
    if (present[b] > 0) most = std::max(most, q[b]), bins += 1.0;
  }
  for (std::size_t b = 0; b < q.size(); ++b)
    sum += q[b] = present[b] > 0 ? std::exp(q[b] - most) : 0.0;
  for (std::size_t b = 0; b < q.size(); ++b)
    q[b] = present[b] > 0 ? (1.0 - gamma_) * q[b] / sum + gamma_ / bins : 0.0;
  return q;
}

nlohmann::json PromptGame::save() const { return {{"scores", scores_}}; }

void PromptGame::load(const nlohmann::json& state, std::size_t bins) {
  std::vector<double> scores;
  // null is NaN, which JSON does not have
  for (const auto& score : state.at("scores"))
    scores.push_back(score.is_null() ? NAN : score.get<double>());
  require<StorageError>(
      scores.empty() || scores.size() == bins,
      fmt::format("saved scores of {} difficulty bins, not {}", scores.size(), bins),
      "the run would not continue where it stopped", "resume with the knobs it was started with");
  scores_ = std::move(scores);
}

}  // namespace rollcall::scheduling
