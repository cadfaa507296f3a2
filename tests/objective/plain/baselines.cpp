// Plain versions of the advantages that choose another baseline or spread.
#include "plain/plain.hpp"

#include <algorithm>

namespace rollcall::objective::test {
namespace {

/// Applies f(rollout, rewards of its group in the step's order) to every rollout, over tokens.
template <class OfGroup>
Column by_group(const PlainStep& s, OfGroup f) {
  std::vector<double> a;
  for (const auto& r : s.rollouts) {
    std::vector<double> rewards;
    for (const auto& other : s.rollouts) {
      if (other.group == r.group) rewards.push_back(other.reward);
    }
    a.push_back(f(r, rewards));
  }
  return over_tokens(s, a);
}

/// Standard deviation with n - `less`.
double spread_of(const std::vector<double>& x, int less) {
  double sum = 0;
  for (const double v : x) sum += (v - mean_of(x)) * (v - mean_of(x));
  return int(x.size()) > less ? std::sqrt(sum / double(int(x.size()) - less)) : 0.0;
}
Column group_whiten(const PlainStep& s) {
  Column a = over_tokens(s, [&] {
    std::vector<double> all;
    for (const auto& r : s.rollouts) {
      const auto m = moments_of_group(s, r.group);
      all.push_back(m.size == 1 ? r.reward : (r.reward - m.mean) / (m.spread + 1e-5));
    }
    return all;
  }());
  if (a.size() < 2) return a;
  const double mean = mean_of(a), spread = spread_of(a, 1);
  for (double& x : a) x = (x - mean) / (spread + 1e-5);
  return a;
}
double median_of(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}
/// Per-rollout values of the rollouts that have tokens.
std::vector<double> with_tokens(const PlainStep& s, const std::vector<double>& x,
                                bool once_a_token = false) {
  std::vector<double> some;
  for (std::size_t i = 0; i < x.size(); ++i)
    some.insert(some.end(),
                once_a_token ? s.rollouts[i].length() : std::size_t(s.rollouts[i].length() > 0),
                x[i]);
  return some;
}

Column running_baseline(const PlainStep& s) {
  const double baseline =
      s.statistics.contains("reward_mean") ? s.statistics.at("reward_mean") : 0.0;
  return by_group(s, [&](const PlainRollout& r, const auto&) { return r.reward - baseline; });
}

Column baseline_scale(const PlainStep& s) {
  std::vector<double> a, rewards;
  for (const auto& r : s.rollouts) {
    const auto m = moments_of_group(s, r.group);
    const std::string baseline = s.choice("baseline", "group");
    a.push_back(r.reward - (baseline == "prior"       ? r.prior
                            : baseline == "posterior" ? r.posterior
                            : baseline == "predicted" ? r.predicted
                            : baseline == "greedy"    ? r.greedy
                            : baseline == "none"      ? 0.0
                            : m.size > 1              ? m.mean
                                                      : 0.0));
    rewards.push_back(r.reward);
  }
  const bool tokens = s.choice("moments_over", "rollouts") == "tokens";
  const std::string of = s.choice("spread_of", "advantage");
  PlainStep counted = s;  // the rollouts that the moments are of
  std::vector<double> counted_a, counted_rewards;
  counted.rollouts.clear();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto m = moments_of_group(s, s.rollouts[i].group);
    if (s.choice("moments_of", "all") == "unequal" && m.size > 1 && m.spread < 1e-9) continue;
    counted.rollouts.push_back(s.rollouts[i]), counted_a.push_back(a[i]),
        counted_rewards.push_back(rewards[i]);
  }
  const auto centre = with_tokens(counted, counted_a, tokens);
  const double spread = spread_of(
                   of == "reward" ? with_tokens(counted, counted_rewards, tokens) : centre,
                   s.choice("bessel", "no") == "yes" ? 1 : 0),
               mean = mean_of(centre);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = (a[i] - (s.choice("recentre", "no") == "yes" ? mean : 0.0)) /
               (of != "none" && spread > 1e-8 ? spread : 1.0) +
           (s.rollouts[i].correct > 0.5 ? s.knob("accepted_bonus", 0.0) : 0.0);
  return over_tokens(s, a);
}

Column group_median(const PlainStep& s) {
  return by_group(s, [](const PlainRollout& r, const std::vector<double>& rewards) {
    if (rewards.size() == 1) return r.reward;
    const double middle = median_of(rewards);
    std::vector<double> away;
    for (const double x : rewards) away.push_back(std::abs(x - middle));
    const double mad = median_of(away), scale = (mad > 1e-12 ? mad : spread_of(rewards, 1)) + 1e-3;
    double pushing = 0;
    for (const double x : rewards) pushing += std::abs(x - middle) / scale > 1e-6;
    return pushing == 0 ? 0.0 : (r.reward - middle) / scale * double(rewards.size()) / pushing;
  });
}

Column beta_norm(const PlainStep& s) {
  std::map<std::int64_t, double> rates;  // of prompts with tokens
  for (const auto& r : s.rollouts) {
    if (r.length() > 0)
      rates[r.group] = std::min(1.0, std::max(0.0, moments_of_group(s, r.group).mean));
  }
  std::vector<double> p;
  for (const auto& [unused, rate] : rates) p.push_back(rate);
  const double m = mean_of(p), v = spread_of(p, 1) * spread_of(p, 1);
  double alpha = 1, beta = 1;
  if (p.size() > 1 && v >= 1e-12) {
    const double k = m * (1 - m) / v - 1;
    alpha = std::max(1.0, 1 + k * m / 3), beta = std::max(1.0, 1 + k * (1 - m) / 3);
  }
  return by_group(s, [&](const PlainRollout& r, const std::vector<double>& rewards) {
    if (rewards.size() == 1) return r.reward;
    const double rate = std::min(1.0, std::max(0.0, mean_of(rewards)));
    if (r.reward == mean_of(rewards)) return 0.0;
    // Long doubles: pass rates close to each other make alpha + beta thousands, and the density's
    // factors leave the range of a double.
    const long double at_one = std::exp(std::lgamma(static_cast<long double>(alpha) + beta) -
                                        std::lgamma(static_cast<long double>(alpha)) -
                                        std::lgamma(static_cast<long double>(beta)));
    const auto density = double(at_one * std::pow(static_cast<long double>(rate), alpha - 1) *
                                std::pow(1 - static_cast<long double>(rate), beta - 1));
    return (r.reward - mean_of(rewards)) * std::min(1e6, 1 / density);
  });
}

Column virtual_best(const PlainStep& s) {
  return by_group(s, [](const PlainRollout& r, std::vector<double> rewards) {
    rewards.push_back(1.0);
    return (r.reward - mean_of(rewards)) / (spread_of(rewards, 1) + 1e-6);
  });
}

Column outcome_weights(const PlainStep& s) {
  return by_group(s, [](const PlainRollout& r, const auto&) { return r.correct > 0 ? 0.1 : -1.0; });
}

Column prior_shrinkage(const PlainStep& s) {
  return by_group(s, [](const PlainRollout& r, const std::vector<double>& rewards) {
    const double noise = 0.25 / double(rewards.size()), mean = mean_of(rewards),
                 away = (mean - r.predicted) * (mean - r.predicted);
    if (away <= noise) return r.reward - r.predicted;
    const double w = (away - noise) / away;
    return r.reward - w * mean - (1 - w) * r.predicted;
  });
}

Column paired_outcomes(const PlainStep& s) {
  std::vector<double> outcome;
  for (const auto& r : s.rollouts) {
    double right = 0, size = 0;
    for (const auto& other : s.rollouts) {
      if (other.group == r.group) ++size, right += other.correct;
    }
    const bool hard = right <= size / 2;
    outcome.push_back(r.correct > 0 ? (hard ? 4.0 : 1.0) : (hard ? -1.0 : -4.0));
  }
  const auto counted = with_tokens(s, outcome);
  const double mean = mean_of(counted), spread = spread_of(counted, 0);
  for (double& o : outcome) o = (o - mean) / (spread > 1e-8 ? spread : 1.0);
  return over_tokens(s, outcome);
}

Column random_sign(const PlainStep& s) {
  const Column draw = values(Step(s.columns()).uniform_rollouts(0x516E));
  Column a;
  for (std::size_t i = 0; i < draw.size(); ++i)
    a.insert(a.end(), s.rollouts[i].length(), draw[i] < 0.5 ? 1.0 : -1.0);
  return a;
}

/// Finds each paper by counting: the k-th rollout by draw of each group, groups by their first
/// draw, five at a time.
Column bundle_risk(const PlainStep& s) {
  const Column draw = values(Step(s.columns()).uniform_rollouts(11));
  std::map<std::int64_t, std::vector<std::size_t>> groups;
  std::map<std::int64_t, std::size_t> tokens;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i)
    groups[s.rollouts[i].group].push_back(i), tokens[s.rollouts[i].group] += s.rollouts[i].length();
  std::vector<std::vector<std::size_t>> order;
  for (auto& [g, members] : groups) {
    std::sort(members.begin(), members.end(), [&](auto i, auto j) { return draw[i] < draw[j]; });
    if (tokens[g] > 0) order.push_back(members);
  }
  std::sort(order.begin(), order.end(),
            [&](const auto& a, const auto& b) { return draw[a[0]] < draw[b[0]]; });
  const double lo = s.statistics.contains("risk_low") ? s.statistics.at("risk_low") : 1.0;
  const double hi = s.statistics.contains("risk_high") ? s.statistics.at("risk_high") : 4.0;
  std::vector<double> a(s.rollouts.size(), 0.0);
  for (std::size_t g = 0; g < order.size(); ++g) {
    for (std::size_t k = 0; k < order[g].size(); ++k) {
      double score = 0, leads = 0, size = 0;
      std::vector<double> scores;  // of all papers of the bundle
      for (std::size_t h = g - g % 5; h < std::min(order.size(), g - g % 5 + 5); ++h) {
        if (scores.size() < order[h].size()) scores.resize(order[h].size(), 0.0);
        for (std::size_t paper = 0; paper < order[h].size(); ++paper)
          scores[paper] += s.rollouts[order[h][paper]].reward;
        if (k >= order[h].size()) continue;
        const auto& r = s.rollouts[order[h][k]];
        score += r.reward, leads += r.reward - moments_of_group(s, r.group).mean, size += 1;
      }
      const double deviation = spread_of(scores, 1);
      const double middle = score <= lo   ? 0.0
                            : score >= hi ? hi - lo
                                          : score - lo,
                   tail = score < lo ? (score - lo) / 0.2 : 0.0;
      const auto& r = s.rollouts[order[g][k]];
      const double share = std::abs(leads) > 1e-9
                               ? (r.reward - moments_of_group(s, r.group).mean) / leads
                               : 1 / size;
      a[order[g][k]] = (1.5 * tail + middle / (0.8 - 0.2)) / 2.5 * share /
                       (deviation > 1e-9 ? deviation + 1e-6 : 1.0);
    }
  }
  return over_tokens(s, a);
}

Column decoupled_norm(const PlainStep& s) {
  std::vector<double> sum(s.rollouts.size(), 0.0);
  PlainStep one = s;
  std::map<std::string, double> names = s.rollouts[0].components;
  if (names.empty()) names["reward"] = 0;
  for (const auto& [name, unused] : names) {
    for (auto& r : one.rollouts)
      r.reward = r.components.contains(name)                ? r.components.at(name)
                 : r.components.empty() && name == "reward" ? r.reward
                                                            : 0.0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const auto& r = one.rollouts[i];
      const auto m = moments_of_group(one, r.group);
      sum[i] += m.size == 1 ? r.reward : (r.reward - m.mean) / (m.spread + 1e-4);
    }
  }
  const auto all = with_tokens(s, sum);
  for (double& x : sum) x = (x - mean_of(all)) / (spread_of(all, 1) + 1e-4);
  return over_tokens(s, sum);
}

Column consistency_blend(const PlainStep& s) {
  std::map<std::int64_t, double> rates;
  for (const auto& r : s.rollouts) {
    if (r.length() > 0) rates[r.group] = moments_of_group(s, r.group).mean;
  }
  std::vector<double> p;
  for (const auto& [unused, rate] : rates) p.push_back(rate);
  std::vector<double> a;
  for (const auto& r : s.rollouts) {
    const auto m = moments_of_group(s, r.group);
    std::map<double, double> answers;
    double entropy = 0;
    for (const auto& other : s.rollouts) {
      if (other.group == r.group) answers[other.answer] += 1.0 / m.size;
    }
    for (const auto& [unused, share] : answers) entropy -= share * std::log2(share);
    const double w = 1 / (1 + std::exp(-20 * (entropy - 1.5))),
                 local = m.size == 1 ? r.reward : (r.reward - m.mean) / (m.spread + 1e-6);
    a.push_back(w * local + (1 - w) * (m.mean - mean_of(p)) / (spread_of(p, 1) + 1e-6));
  }
  return over_tokens(s, a);
}

}  // namespace

void add_baselines(PlainPieces& p) {
  p.advantage["group_whiten"] = group_whiten;
  p.advantage["running_baseline"] = running_baseline;
  p.advantage["baseline_scale"] = baseline_scale;
  p.advantage["group_median"] = group_median;
  p.advantage["beta_norm"] = beta_norm;
  p.advantage["virtual_best"] = virtual_best;
  p.advantage["outcome_weights"] = outcome_weights;
  p.advantage["paired_outcomes"] = paired_outcomes;
  p.advantage["prior_shrinkage"] = prior_shrinkage;
  p.advantage["bundle_risk"] = bundle_risk;
  p.advantage["decoupled_norm"] = decoupled_norm;
  p.advantage["consistency_blend"] = consistency_blend;
  p.advantage["random_sign"] = random_sign;
}

}  // namespace rollcall::objective::test
