// Plain versions of the pieces made for rollouts of older policies, and of the terms that keep the
// policy near.
#include "plain/loops.hpp"

namespace rollcall::objective::test {
namespace {

Column fixed_baseline(const PlainStep& s) {
  return for_each_token(
      s, [&](const PlainRollout& r, std::size_t) { return r.reward - s.knob("baseline", 0.5); });
}

Column min_variance(const PlainStep& s) {
  const auto weight = [](const PlainRollout& r) {
    double norm = 0;
    for (std::size_t t = 0; t < r.length(); ++t) {
      const double p = std::exp(r.old[t]), squares = r.sum_squares.empty() ? 0.0 : r.sum_squares[t];
      norm += 1 - 2 * p + std::max(squares, p * p);
    }
    double moved = 0;
    for (std::size_t t = 0; t < r.length(); ++t)
      moved += (r.current.empty() ? r.old : r.current)[t] - r.rollout[t];
    return std::exp(2 * moved) * norm;
  };
  return for_each_token(s, [&](const PlainRollout& r, std::size_t) {
    if (moments_of_group(s, r.group).size == 1) return r.reward;
    double weighted = 0, total = 0;
    for (const auto& other : s.rollouts) {
      if (other.group == r.group) weighted += weight(other) * other.reward, total += weight(other);
    }
    const double spread = moments_of_group(s, r.group).population_spread;
    return (r.reward - weighted / total) / (spread > 1e-8 ? spread : 1.0);
  });
}

TokenLosses rec(const PlainStep& s, const Column& a, const Column& ratio) {
  TokenLosses out;
  const Column lp = s.flat(&PlainRollout::now);
  for (std::size_t t = 0; t < a.size(); ++t) {
    out.slope.push_back((a[t] > 0 && ratio[t] > 1.2) || (a[t] < 0 && ratio[t] < 0.8) ? 0.0 : -a[t]);
    out.loss.push_back(out.slope.back() * lp[t]);
  }
  return out;
}

TokenLosses minirl(const PlainStep& s, const Column& a, const Column& ratio) {
  TokenLosses out;
  const Column lp = s.flat(&PlainRollout::now), sampled = s.flat(&PlainRollout::rollout);
  for (std::size_t t = 0; t < a.size(); ++t) {
    const bool masked = (a[t] > 0 && ratio[t] > 1.27) || (a[t] < 0 && ratio[t] < 0.8);
    out.slope.push_back(masked ? 0.0 : -a[t] * std::min(std::exp(lp[t] - sampled[t]), 5.0));
    out.loss.push_back(out.slope.back() * lp[t]);
  }
  return out;
}

TokenLosses forward_kl(const PlainStep& s) {
  return {for_each_token(s, [](const PlainRollout& r, std::size_t t) { return -0.1 * r.now[t]; })};
}

TokenLosses positive_nll(const PlainStep& s) {
  double tokens = 0, correct = 0;
  for (const auto& r : s.rollouts)
    tokens += double(r.length()), correct += r.correct * double(r.length());
  return {for_each_token(s, [&](const PlainRollout& r, std::size_t t) {
    return r.correct == 1.0 ? -0.1 * tokens / correct * r.now[t] : 0.0;
  })};
}

TokenLosses kl_convex(const PlainStep& s) {
  const auto k3 = [](double d) { return std::exp(d) - d - 1; };
  const double b = 1 - s.progress / 2;
  return {for_each_token(s, [&](const PlainRollout& r, std::size_t t) {
    return 0.04 * (b * k3(r.reference[t] - r.now[t]) + (1 - b) * k3(r.old[t] - r.now[t]));
  })};
}

}  // namespace

void add_offpolicy(PlainPieces& p) {
  p.advantage["fixed_baseline"] = fixed_baseline;
  p.advantage["min_variance"] = min_variance;
  p.surrogate["rec"] = rec;
  p.surrogate["minirl"] = minirl;
  // tokens keep their weight
  p.weight["ess_lr"] = [](const PlainStep&, const Column&) { return PlainWeight{}; };
  p.regularizer["forward_kl"] = forward_kl;
  p.regularizer["positive_nll"] = positive_nll;
  p.regularizer["kl_convex"] = kl_convex;
}

}  // namespace rollcall::objective::test
