// Plain versions of the advantages that look at ranks, sets or single tokens.
#include "plain/plain.hpp"

#include <algorithm>

namespace rollcall::objective::test {
namespace {

template <class OfRollout>
Column each(const PlainStep& s, OfRollout f) {
  std::vector<double> a;
  for (const auto& r : s.rollouts) a.push_back(f(r, moments_of_group(s, r.group)));
  return over_tokens(s, a);
}

std::vector<double> rewards_of(const PlainStep& s, const PlainRollout& r) {
  std::vector<double> all;
  for (const auto& other : s.rollouts) {
    if (other.group == r.group) all.push_back(other.reward);
  }
  std::sort(all.begin(), all.end());
  return all;
}

Column length_baseline(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r, const GroupMoments& m) {
    double weighted = 0, length = 0;
    for (const auto& other : s.rollouts) {
      if (other.group == r.group)
        weighted += double(other.length()) * other.reward, length += double(other.length());
    }
    return m.size == 1 ? r.reward : length == 0 ? 0.0 : r.reward - weighted / length;
  });
}

Column gpg_scale(const PlainStep& s) {
  double all = 0, earned = 0;
  for (const auto& r : s.rollouts) {
    const auto m = moments_of_group(s, r.group);
    const bool teaches = s.choice("gpg_counts", "unequal") == "rewarded"
                             ? r.reward != 0
                             : m.size == 1 || m.spread > 1e-9;
    if (r.length() > 0) all += 1, earned += teaches;
  }
  return each(s, [&](const PlainRollout& r, const GroupMoments& m) {
    return all / std::max(1.0, earned) * (r.reward - (m.size == 1 ? 0.0 : m.mean));
  });
}

Column mean_norm(const PlainStep& s) {
  return each(s, [](const PlainRollout& r, const GroupMoments& m) {
    return m.size == 1 ? r.reward : (r.reward - m.mean) / (std::max(0.0, m.mean) + 1e-6);
  });
}

Column best_minus_second(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r, const GroupMoments& m) {
    const auto sorted = rewards_of(s, r);
    if (m.size == 1) return r.reward;
    return r.reward < sorted.back()
               ? 0.0
               : (sorted.back() - sorted[sorted.size() - 2]) / (m.spread + 1e-6);
  });
}

/// Counts sets of k by recursion: all those of the group that hold (or need not hold) a given
/// rollout.
double choose(int n, int k) {
  return k < 0 || n < k || n < 0 ? 0.0 : k == 0 ? 1.0 : choose(n - 1, k - 1) + choose(n - 1, k);
}

Column pass_at_k(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r, const GroupMoments& m) {
    int failures = 0;
    for (const auto& other : s.rollouts) failures += other.group == r.group && other.correct <= 0;
    const int k = std::min(4, m.size);
    const double mean = 1 - choose(failures, k) / choose(m.size, k),
                 spread = std::sqrt(mean * (1 - mean));
    if (failures == 0 || mean <= 0 || mean >= 1) return 0.0;
    return (r.correct > 0 ? 1 - mean
                          : 1 - mean - choose(failures - 1, k - 1) / choose(m.size - 1, k - 1)) /
           spread;
  });
}

Column group_quantile(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r, const GroupMoments& m) {
    if (m.size == 1) return r.reward;
    double base = 0;
    for (const double candidate : rewards_of(s, r)) {  // ascending: the first that enough of the
                                                       // group does not exceed
      double covered = 0;
      for (const double x : rewards_of(s, r)) covered += x <= candidate;
      base = candidate;
      if (covered >= 0.4 * m.size - 1e-9) break;
    }
    return (r.reward - base) / (m.spread + 1e-6);
  });
}

Column best_of_group(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r, const GroupMoments&) {
    return r.correct > 0 && r.reward == rewards_of(s, r).back() ? 1.0 : 0.0;
  });
}

double energy(const PlainRollout& r, std::size_t t) {
  double sum = 0;
  for (std::size_t u = 0; u <= t; ++u) {
    const double p = std::exp(r.old[u]);
    sum +=
        std::max(1 - 2 * p + (r.sum_squares.empty() ? 0.0 : r.sum_squares[u]), (1 - p) * (1 - p));
  }
  return sum;
}

Column optimal_token_baseline(const PlainStep& s) {
  Column a;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) {
      double above = 0, below = 1e-8;
      int reach = 0;
      for (const auto& other : s.rollouts) {
        if (other.group == r.group && other.length() > t)
          ++reach, above += other.reward * energy(other, t), below += energy(other, t);
      }
      a.push_back(r.reward - (reach > 1 ? above / below : 0.0));
    }
  }
  return a;
}

Column step_potential(const PlainStep& s) {
  const Column outcome = plain_advantage("group_norm", s);
  const double saturation = s.knob("saturation", 0.9), share = s.knob("saturated_share", 0.5),
               shaping = s.knob("shaping", 0.5);
  Column all;
  for (const auto& r : s.rollouts) {
    const auto phi = [&](std::size_t t) {
      return r.probe_accuracy[t] * (0.5 + 1.5 * r.probe_confidence[t]) - r.probe_confidence[t];
    };
    for (std::size_t t = 0; t < r.length(); ++t) {
      double a = outcome[all.size()], before = 0;
      if (r.reasoning_step.empty() || r.reasoning_step[t] < 0) {
        all.push_back(a);
        continue;
      }
      bool first = true, found = false;
      for (std::size_t u = 0; u < t; ++u) {
        if (r.reasoning_step[u] == r.reasoning_step[t]) continue;
        before = phi(u), first = false, found = found || phi(u) > saturation;
      }
      if (found && a > 0) a *= share;
      all.push_back(first ? a : a + shaping * (phi(t) - before));
    }
  }
  return all;
}

Column entropy_charged(const PlainStep& s) {
  return each(s, [](const PlainRollout& r, const GroupMoments& m) {
    double entropy = 0;
    for (std::size_t t = 0; t < r.length(); ++t)
      entropy += (r.old_entropy.empty() ? r.entropy : r.old_entropy)[t] / double(r.length());
    return (m.size == 1 ? r.reward : r.reward - m.mean) - 0.1 * entropy;
  });
}

/// The two binary rewards of a rollout, standardised by hand over its group.
Column hybrid_modes(const PlainStep& s) {
  const auto thinks = [](const PlainRollout& r) {
    if (r.opening > 0) return r.opening == 1;
    return r.length() > 0 && (r.token.empty() || r.token[0] == 0);
  };
  PlainStep best = s, win = s;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    double top = -1e9, bottom = 1e9, of_all = -1e9, sum[2] = {0, 0}, count[2] = {0, 0};
    for (const auto& other : s.rollouts) {
      if (other.group != s.rollouts[i].group) continue;
      sum[thinks(other)] += other.reward, count[thinks(other)] += 1,
          of_all = std::max(of_all, other.reward);
      if (thinks(other) == thinks(s.rollouts[i]))
        top = std::max(top, other.reward), bottom = std::min(bottom, other.reward);
    }
    const bool all_alike = count[thinks(s.rollouts[i])] > 1 && top == bottom;
    best.rollouts[i].reward = s.rollouts[i].reward == top && (!all_alike || top == of_all);
    const bool thinking =
        count[0] == 0 || (count[1] > 0 && sum[1] / count[1] > sum[0] / count[0] + 0.2 + 1e-9);
    win.rollouts[i].reward = thinking == thinks(s.rollouts[i]);
  }
  Column a;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    const auto b = moments_of_group(best, s.rollouts[i].group),
               w = moments_of_group(win, s.rollouts[i].group);
    for (std::size_t t = 0; t < s.rollouts[i].length(); ++t) {
      a.push_back((best.rollouts[i].reward - b.mean) / (b.spread + 1e-6) +
                  (t == 0 && s.rollouts[i].opening == 0
                       ? (win.rollouts[i].reward - w.mean) / (w.spread + 1e-6)
                       : 0.0));
    }
  }
  return a;
}

/// A failure stays while fewer failures of its group than there are successes have a smaller draw.
Column balanced_center(const PlainStep& s) {
  const Column draw = values(Step(s.columns()).uniform_rollouts(17));
  const auto failed = [&](std::size_t i) {
    return s.rollouts[i].reward < moments_of_group(s, s.rollouts[i].group).mean - 1e-9;
  };
  std::vector<bool> kept;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    int successes = 0, failures = 0, later = 0;
    for (std::size_t j = 0; j < s.rollouts.size(); ++j) {
      if (s.rollouts[j].group != s.rollouts[i].group) continue;
      (failed(j) ? failures : successes) += 1;
      if (failed(j) && draw[j] > draw[i]) ++later;
    }
    kept.push_back(!failed(i) || failures <= successes || later < successes);
  }
  std::vector<double> a;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    double sum = 0, n = 0;
    for (std::size_t j = 0; j < s.rollouts.size(); ++j) {
      if (s.rollouts[j].group == s.rollouts[i].group && kept[j])
        sum += s.rollouts[j].reward, n += 1;
    }
    const bool alone = moments_of_group(s, s.rollouts[i].group).size == 1;
    a.push_back(!kept[i] ? 0.0 : alone ? s.rollouts[i].reward : s.rollouts[i].reward - sum / n);
  }
  return over_tokens(s, a);
}

}  // namespace

void add_baselines_more(PlainPieces& p) {
  p.advantage["balanced_center"] = balanced_center;
  p.advantage["length_baseline"] = length_baseline;
  p.advantage["gpg_scale"] = gpg_scale;
  p.advantage["mean_norm"] = mean_norm;
  p.advantage["best_minus_second"] = best_minus_second;
  p.advantage["pass_at_k"] = pass_at_k;
  p.advantage["group_quantile"] = group_quantile;
  p.advantage["best_of_group"] = best_of_group;
  p.advantage["optimal_token_baseline"] = optimal_token_baseline;
  p.advantage["entropy_charged"] = entropy_charged;
  p.advantage["step_potential"] = step_potential;
  p.advantage["hybrid_modes"] = hybrid_modes;
}

}  // namespace rollcall::objective::test
