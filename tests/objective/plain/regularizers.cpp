// Plain versions of the regularizers that hold the policy back, and of the controllers that move
// their coefficients.
#include "plain/plain.hpp"

namespace rollcall::objective::test {
namespace {

double mean_over_tokens(const PlainStep& s,
                        const std::function<double(const PlainRollout&, std::size_t)>& of_token) {
  double sum = 0, count = 0;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) sum += of_token(r, t), count += 1;
  }
  return count == 0 ? 0.0 : sum / count;
}
double current(const PlainRollout& r, std::size_t t) {
  return r.current.empty() ? r.old[t] : r.current[t];
}

TokenLosses kl_hinge(const PlainStep& s) {
  const double divergence = mean_over_tokens(
      s, [](const PlainRollout& r, std::size_t t) { return r.old[t] - current(r, t); });
  const double c =
      s.knob("hinge_beta", 1000) * std::max(divergence - s.knob("hinge_delta", 1e-4), 0.0);
  std::map<std::int64_t, double> of_prompt;
  double tokens = 0;
  for (const auto& r : s.rollouts) {
    if (r.length() > 0) of_prompt[r.group] += double(r.length()), tokens += double(r.length());
  }
  const auto prompts = double(of_prompt.size());
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    // a mean over tokens, through one over prompts
    const double slope = c * of_prompt[r.group] * prompts / tokens;
    for (std::size_t t = 0; t < r.length(); ++t)
      out.loss.push_back(slope * (r.old[t] - r.now[t])), out.slope.push_back(-slope);
  }
  return out;
}

TokenLosses policy_drift(const PlainStep& s) {
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) {
      const double d = r.now[t] - r.old[t], rho = std::exp(d);
      out.loss.push_back(0.001 *
                         (rho < 3 ? rho - 1 - d : 2 - std::log(3.0) + 2 * (d - std::log(3.0))));
      out.slope.push_back(0.001 * std::min(rho - 1, 2.0));
    }
  }
  return out;
}

TokenLosses lazy_likelihood(const PlainStep& s) {
  const Column advantage = plain_advantage("group_norm", s);
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    double lost = 0;
    for (std::size_t t = 0; t < r.length(); ++t) lost += r.old[t] - r.now[t];
    for (std::size_t t = 0; t < r.length(); ++t) {
      const bool held = lost > 0 && advantage[out.loss.size()] >= 0 && r.old[t] > r.now[t];
      out.loss.push_back(held ? 0.2 * (r.old[t] - r.now[t]) : 0.0);
      out.slope.push_back(held ? -0.2 : 0.0);
    }
  }
  return out;
}

TokenLosses reweighted_kl(const PlainStep& s) {
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) {
      const auto& flat = r.flat_reference.empty() ? r.reference : r.flat_reference;
      const double u = std::exp(r.reward > 0.5 ? r.reference[t] : flat[t]) / std::exp(r.now[t]);
      out.loss.push_back(0.01 * (u * std::log(u) - u + 1));
      out.slope.push_back(-0.01 * u * std::log(u));
    }
  }
  return out;
}

TokenLosses adaptive_entropy(const PlainStep& s) {
  const double mean = mean_over_tokens(s, [](const PlainRollout& r, std::size_t t) {
    return r.old_entropy.empty() ? r.entropy[t] : r.old_entropy[t];
  });
  const bool kept =
      s.statistics.contains("entropy_coef") && s.statistics.contains("entropy_target");
  const double c =
      kept && mean <= s.statistics.at("entropy_target") ? s.statistics.at("entropy_coef") : 0.0;
  TokenLosses out;
  for (const double h : s.flat(&PlainRollout::entropy))
    out.loss.push_back(-c * h), out.slope.push_back(0), out.entropy_slope.push_back(-c);
  return out;
}

TokenLosses entropy_band(const PlainStep& s) {
  TokenLosses out;
  for (const double h : s.flat(&PlainRollout::entropy)) {
    const auto history = s.statistics.find("entropy_history");
    const bool inside =
        history == s.statistics.end() || (h > 0.8 * history->second && h < 1.2 * history->second);
    out.loss.push_back(-0.001 * (inside ? h : h - 0.1)), out.slope.push_back(0),
        out.entropy_slope.push_back(-0.001);
  }
  return out;
}

/// Without an advantage piece that says what the value is to learn: the rollout's reward.
TokenLosses value(const PlainStep& s) {
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) {
      const double moved = r.value[t] - r.old_value[t], error = r.value[t] - r.reward;
      const double bounded = r.old_value[t] + std::clamp(moved, -0.5, 0.5) - r.reward;
      const bool stopped = bounded * bounded > error * error;
      out.loss.push_back(0.5 * (stopped ? bounded * bounded : error * error));
      out.slope.push_back(0.0);
      out.value_slope.push_back(stopped ? 0.0 : error);
    }
  }
  return out;
}

std::vector<double> rewards_as_they_are(const PlainStep& s) {
  std::vector<double> all;
  for (const auto& r : s.rollouts) all.push_back(r.reward);
  return all;
}

}  // namespace

void add_regularizers(PlainPieces& p) {
  p.regularizer["kl_hinge"] = kl_hinge;
  p.regularizer["policy_drift"] = policy_drift;
  p.regularizer["lazy_likelihood"] = lazy_likelihood;
  p.regularizer["reweighted_kl"] = reweighted_kl;
  p.regularizer["adaptive_entropy"] = adaptive_entropy;
  p.regularizer["entropy_band"] = entropy_band;
  p.regularizer["value"] = value;
  p.reward["kl_controller"] = rewards_as_they_are;
  p.reward["entropy_controller"] = rewards_as_they_are;
  p.reward["entropy_history"] = rewards_as_they_are;
}

}  // namespace rollcall::objective::test
