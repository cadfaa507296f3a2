// Plain versions of the pieces that change how the ratio is bounded.
#include "plain/loops.hpp"

namespace rollcall::objective::test {
namespace {

/// -w A lp with the derivative -w A: the weight is frozen.
template <class Weight>
TokenLosses frozen_weight(const PlainStep& s, const Column& a, Weight weight) {
  TokenLosses out;
  const Column lp = s.flat(&PlainRollout::now);
  for (std::size_t t = 0; t < a.size(); ++t)
    out.slope.push_back(-weight(t) * a[t]), out.loss.push_back(out.slope.back() * lp[t]);
  return out;
}

TokenLosses cispo(const PlainStep& s, const Column& a, const Column& ratio) {
  const double low = 1 - s.knob("clip_low", 1.0), high = 1 + s.knob("clip_high", 0.2);
  return frozen_weight(s, a,
                       [&](std::size_t t) { return std::min(std::max(ratio[t], low), high); });
}

TokenLosses cispo_upper(const PlainStep& s, const Column& a, const Column& ratio) {
  return frozen_weight(s, a,
                       [&](std::size_t t) { return std::min(ratio[t], s.knob("cispo_cap", 5.0)); });
}

TokenLosses dispo(const PlainStep& s, const Column& a, const Column& ratio) {
  return frozen_weight(s, a, [&](std::size_t t) {
    return a[t] > 0 ? std::min(std::max(ratio[t], 0.8), 11.0) : std::min(ratio[t], 101.0);
  });
}

TokenLosses gamma_weight(const PlainStep& s, const Column& a, const Column& ratio) {
  return frozen_weight(s, a, [&](std::size_t t) {
    const double k = a[t] > 0 ? 2 : 3, lambda = a[t] > 0 ? 3 : 2;
    return std::pow(ratio[t], k) * std::exp(lambda * (1 - ratio[t]));
  });
}

TokenLosses divergence_mask(const PlainStep& s, const Column& a, const Column& ratio) {
  const Column now = s.flat(&PlainRollout::now), old = s.flat(&PlainRollout::old);
  return frozen_weight(s, a, [&](std::size_t t) {
    const double moved = std::exp(std::min(now[t], 0.0)) - std::exp(old[t]);
    return (a[t] > 0 ? moved <= 0.2 : moved >= -0.2) ? std::min(ratio[t], 20.0) : 0.0;
  });
}

TokenLosses geo_mean(const PlainStep& s, const Column& a, const Column& ratio) {
  TokenLosses out;
  std::size_t first = 0;
  for (const auto& r : s.rollouts) {
    double mean = 0, advantage = 0;
    for (std::size_t t = first; t < first + r.length(); ++t) {
      const double d = std::log(ratio[t]);
      mean += (a[t] > 0 ? std::min(d, 0.4) : a[t] < 0 ? std::max(d, -0.4) : d) / double(r.length());
      advantage += a[t] / double(r.length());
    }
    out.loss.insert(out.loss.end(), r.length(), -advantage * std::exp(mean));
    first += r.length();
  }
  return out;
}

TokenLosses hybrid(const PlainStep& s, const Column& a, const Column& ratio) {
  TokenLosses out;
  std::size_t first = 0;
  for (const auto& r : s.rollouts) {
    double mean = 0;
    for (std::size_t t = first; t < first + r.length(); ++t)
      mean += std::log(ratio[t]) / double(r.length());
    for (std::size_t t = first; t < first + r.length(); ++t) {
      const double of_rollout = plain_clip(std::exp(mean), a[t], 3e-4, 4e-4).loss;
      out.loss.push_back(0.5 * plain_clip(ratio[t], a[t], 0.2, 0.2).loss + 0.5 * of_rollout);
    }
    first += r.length();
  }
  return out;
}

TokenLosses soft_gate(const PlainStep&, const Column& a, const Column& ratio) {
  TokenLosses out;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const double tau = a[t] > 0 ? 1.0 : 1.05;
    out.loss.push_back(-a[t] * 4 / tau / (1 + std::exp(-tau * (ratio[t] - 1))));
  }
  return out;
}

TokenLosses gradient_preserving(const PlainStep&, const Column& a, const Column& ratio) {
  TokenLosses out;
  for (std::size_t t = 0; t < a.size(); ++t) {
    double bounded = ratio[t];
    if (a[t] > 0) bounded = std::min(bounded, 1.28);
    if (a[t] < 0) bounded = std::min(std::max(bounded, 0.8), 3.0);
    out.loss.push_back(-a[t] * bounded);
    out.slope.push_back(a[t] < 0 && ratio[t] > 3.0 ? 0.0 : -a[t] * bounded);
  }
  return out;
}

TokenLosses flipped(const PlainStep&, const Column& a, const Column& ratio) {
  TokenLosses out;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const double loss = plain_clip(ratio[t], a[t], 0.2, 0.2, 3.0).loss;
    const double good = ratio[t] > 1.2 ? 0.0 : -a[t] * std::min(1 / ratio[t], 3.0);
    out.loss.push_back(a[t] > 0 ? good : loss);
    out.slope.push_back(a[t] > 0 ? good : ratio[t] < 0.8 ? 0.0 : loss);
  }
  return out;
}

TokenLosses dynamic_clip(const PlainStep& s, const Column& a, const Column& ratio) {
  const Column old = s.flat(&PlainRollout::old);
  TokenLosses out;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const double q = std::exp(old[t]);
    const double low = 0.5 + 0.5 * std::sqrt(std::max(0.0, 1 - 0.64 / q)),
                 high = std::min(10.0, 0.5 + 0.5 * std::sqrt(1 + 0.8 / q));
    out.loss.push_back(plain_clip(ratio[t], a[t], 1 - low, high - 1, 10.0).loss);
  }
  return out;
}

TokenLosses log_clip(const PlainStep&, const Column& a, const Column& ratio) {
  TokenLosses out;
  for (std::size_t t = 0; t < a.size(); ++t) {
    out.loss.push_back(-a[t] *
                       std::log(a[t] > 0 ? std::min(ratio[t], 1.2) : std::max(ratio[t], 0.8)));
  }
  return out;
}

TokenLosses unclipped(const PlainStep&, const Column& a, const Column& ratio) {
  TokenLosses out;
  for (std::size_t t = 0; t < a.size(); ++t) out.loss.push_back(-a[t] * ratio[t]);
  return out;
}

Column prefix_min(const PlainStep& s) {
  Column all;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) {
      double smallest = t == 0 ? 1.0 : 1e300;
      for (std::size_t j = 0; j < t; ++j)
        smallest = std::min(smallest, std::exp(r.now[j] - r.rollout[j]));
      all.push_back(std::exp(r.now[t] - r.rollout[t]) * smallest);
    }
  }
  return all;
}

PlainWeight clip_cov(const PlainStep& s, const Column& a) {
  const Column cov = covariance(s, a), old = s.flat(&PlainRollout::old),
               now = values(s.optional(&PlainRollout::current, &PlainRollout::old));
  const Column drawn = values(Step(s.columns()).uniform_tokens(0xC11C));
  std::vector<std::pair<double, std::size_t>> candidates;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const double ratio = std::exp(now[t] - old[t]);
    if (cov[t] > 1 && cov[t] < 5 && !(a[t] > 0 && ratio > 2)) candidates.emplace_back(drawn[t], t);
  }
  std::sort(candidates.begin(), candidates.end());
  const auto taken = std::max<std::size_t>(1, std::size_t(2e-4 * double(a.size())));
  PlainWeight w{Column(a.size(), 1.0), {}};
  for (std::size_t i = 0; i < std::min(taken, candidates.size()); ++i)
    w.factor[candidates[i].second] = 0.0;
  return w;
}

TokenLosses kl_cov(const PlainStep& s) {
  const Column cov = covariance(s, plain_advantage("group_norm", s)),
               now = s.flat(&PlainRollout::now), old = s.flat(&PlainRollout::old);
  double largest = -1e300;
  for (const double c : cov) largest = std::max(largest, c);
  TokenLosses out;  // steps are so short that the share is one token, and those that tie with it
  for (std::size_t t = 0; t < cov.size(); ++t)
    out.loss.push_back(cov[t] > largest - 1e-9 ? std::abs(now[t] - old[t]) : 0.0);
  return out;
}

}  // namespace

void add_clipping(PlainPieces& p) {
  p.surrogate["cispo"] = cispo;
  p.surrogate["cispo_upper"] = cispo_upper;
  p.surrogate["dispo"] = dispo;
  p.surrogate["gamma_weight"] = gamma_weight;
  p.surrogate["divergence_mask"] = divergence_mask;
  p.surrogate["geo_mean"] = geo_mean;
  p.surrogate["hybrid"] = hybrid;
  p.surrogate["soft_gate"] = soft_gate;
  p.surrogate["gradient_preserving"] = gradient_preserving;
  p.surrogate["flipped"] = flipped;
  p.surrogate["dynamic_clip"] = dynamic_clip;
  p.surrogate["log_clip"] = log_clip;
  p.surrogate["unclipped"] = unclipped;
  p.ratio["prefix_min"] = prefix_min;
  p.ratio["sequence_token"] = p.ratio.at("sequence");
  p.weight["clip_cov"] = clip_cov;
  p.regularizer["kl_cov"] = kl_cov;
}

}  // namespace rollcall::objective::test
