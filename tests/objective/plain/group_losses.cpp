// Plain versions of the losses that couple the rollouts of a group.
#include "plain/plain.hpp"

namespace rollcall::objective::test {
namespace {

using Members = std::vector<std::size_t>;
using Scores = std::vector<double>;

/// Rollouts with tokens, by group.
std::map<std::int64_t, Members> groups_of(const PlainStep& s) {
  std::map<std::int64_t, Members> groups;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    if (s.rollouts[i].length() > 0) groups[s.rollouts[i].group].push_back(i);
  }
  return groups;
}

/// One number a rollout from (rollout, place), summed or averaged over its tokens.
template <class OfToken>
Scores scores(const PlainStep& s, bool mean, OfToken of_token) {
  Scores all;
  for (const auto& r : s.rollouts) {
    double sum = 0;
    for (std::size_t t = 0; t < r.length(); ++t) sum += of_token(r, t);
    all.push_back(mean && r.length() > 0 ? sum / double(r.length()) : sum);
  }
  return all;
}
double to_old(const PlainRollout& r, std::size_t t) { return r.now[t] - r.old[t]; }
double to_reference(const PlainRollout& r, std::size_t t) { return r.now[t] - r.reference[t]; }

bool right(const PlainStep& s, std::size_t i) { return s.rollouts[i].correct == 1.0; }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

template <class OfGroup>
TokenLosses each_group(const PlainStep& s, OfGroup of_group) {
  std::vector<double> loss(s.rollouts.size(), 0.0);
  for (const auto& [unused, members] : groups_of(s)) {
    const double value = of_group(members);
    for (const auto i : members) loss[i] = value;
  }
  return {over_tokens(s, loss)};
}

TokenLosses group_contrast(const PlainStep& s, const Column&, const Column&) {
  const Scores score =
      scores(s, true, [](const PlainRollout& r, std::size_t t) { return r.now[t]; });
  const double tau = s.knob("contrast_tau", 10.0);
  return each_group(s, [&](const Members& members) {
    double up = 0, rights = 0, wrongs = 0, sum = 0;
    for (const auto i : members) {
      if (right(s, i)) up += score[i], rights += 1;
      else sum += std::exp(score[i] / tau), wrongs += 1;
    }
    return rights == 0 || wrongs == 0 ? 0.0 : tau * std::log(sum / wrongs) - up / rights;
  });
}

TokenLosses group_labels(const PlainStep& s, const Column&, const Column&) {
  const Scores score = scores(s, true, to_old);
  return each_group(s, [&](const Members& members) {
    double high = 0, low = 0;
    for (const auto i : members)
      (right(s, i) ? low : high) +=
          std::exp((right(s, i) ? -1 : 1) * score[i] / s.knob("label_tau", 0.5));
    return high == 0 || low == 0 ? 0.0 : std::log(1 + high) + std::log(1 + low);
  });
}

TokenLosses group_classifier(const PlainStep& s, const Column&, const Column&) {
  const Scores u = scores(s, false, to_old);
  std::vector<double> loss(s.rollouts.size(), 0.0);
  for (const auto& [unused, members] : groups_of(s)) {
    double rights = 0;
    for (const auto i : members) rights += right(s, i);
    const double n = double(members.size()), wrongs = n - rights;
    for (const auto i : members) {
      double others = 0;
      for (const auto j : members) others += j == i ? 0.0 : u[j] / (n - 1);
      const double weight =
          rights > 0 && wrongs > 0 ? n / 2 / (right(s, i) ? rights : wrongs) : 1.0;
      loss[i] = weight * softplus((right(s, i) ? -1 : 1) * (u[i] - others));
    }
  }
  return {over_tokens(s, loss)};
}

TokenLosses group_regression(const PlainStep& s, const Column& a, const Column&) {
  const Scores q = scores(s, false, to_old);
  std::vector<double> advantage, loss(s.rollouts.size(), 0.0);
  std::size_t token = 0;
  for (const auto& r : s.rollouts)
    advantage.push_back(r.length() > 0 ? a[token] : 0.0), token += r.length();
  for (const auto& [unused, members] : groups_of(s)) {
    double mean = 0;
    for (const auto i : members) mean += (advantage[i] - q[i]) / double(members.size());
    for (const auto i : members)
      loss[i] = (advantage[i] - q[i] - mean) * (advantage[i] - q[i] - mean);
  }
  return {over_tokens(s, loss)};
}

TokenLosses pair_preference(const PlainStep& s, const Column&, const Column&) {
  const Scores l = scores(s, false, to_reference);
  return each_group(s, [&](const Members& members) {
    double sum = 0, pairs = 0;
    for (const auto i : members) {
      for (const auto j : members) {
        if (s.rollouts[i].reward > s.rollouts[j].reward)
          sum += softplus(-s.knob("pair_beta", 0.1) * (l[i] - l[j])), pairs += 1;
      }
    }
    return pairs == 0 ? 0.0 : sum / pairs;
  });
}

TokenLosses group_alignment(const PlainStep& s, const Column& a, const Column& ratio) {
  const Scores l = scores(s, false, to_reference);
  std::map<std::int64_t, double> aligned, pairs, rights;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i)  // also those without a token
    if (s.rollouts[i].expert != 1.0) rights[s.rollouts[i].group] += right(s, i);
  for (const auto& [group, members] : groups_of(s)) {
    for (const auto i : members) {
      if (s.rollouts[i].expert == 1.0) continue;
      for (const auto j : members) {
        if (s.rollouts[j].expert != 1.0 && right(s, i) && !right(s, j))
          aligned[group] += softplus(l[j] - l[i]), pairs[group] += 1;
      }
    }
  }
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) {
      const auto token = out.loss.size();
      if (r.expert == 1.0) out.loss.push_back(rights[r.group] == 0 ? -r.now[t] : 0.0);
      else
        out.loss.push_back(pairs[r.group] == 0
                               ? 0.0
                               : 0.5 * plain_clip(ratio[token], a[token], 0.2, 0.2).loss +
                                     0.5 * aligned[r.group] / pairs[r.group]);
    }
  }
  return out;
}

TokenLosses expert_mix(const PlainStep& s, const Column& a, const Column& ratio) {
  const double now = double(s.index);  // to 0.5 in 200 steps, from there to 0.02 in 400
  const double mu = now < 200   ? 0.5 * now / 200
                    : now < 600 ? 0.02 + 0.24 * (1 + std::cos(M_PI * (now - 200) / 400))
                                : 0.02;
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) {
      const auto token = out.loss.size();
      // a random log-probability may lie above 0
      const double p = std::exp(std::min(r.now[t], 0.0));
      const auto own = plain_clip(ratio[token], a[token], 0.2, 0.2);
      out.loss.push_back(r.expert == 1.0 ? -mu * p * (1 - p) * r.now[t] : (1 - mu) * own.loss);
      out.slope.push_back(r.expert == 1.0 ? -mu * p * (1 - p)
                          : own.clipped   ? 0.0
                                          : -(1 - mu) * ratio[token] * a[token]);
    }
  }
  return out;
}

TokenLosses next_token(const PlainStep& s, const Column&, const Column&) {
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    for (const double lp : r.now) {
      const double p = std::exp(std::min(lp, 0.0));
      const double weight = r.expert == 1.0 ? std::pow(p, 1 - s.knob("target_power", 1)) -
                                                  s.knob("wrong_reward", 0) * p
                                            : 0.0;
      out.loss.push_back(-weight * lp);
      out.slope.push_back(-weight);
    }
  }
  return out;
}

TokenLosses negative_aware(const PlainStep& s, const Column& a, const Column& ratio) {
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    double above = 0, size = 0;
    for (const auto& other : s.rollouts) {
      if (other.group == r.group)
        above += other.reward > moments_of_group(s, r.group).mean, size += 1;
    }
    const double p = std::clamp(above / size, 1e-6, 1 - 1e-6);
    for (std::size_t t = 0; t < r.length(); ++t) {
      const auto token = out.loss.size();
      const double held = std::max((1 - p * ratio[token]) / (1 - p), 1.0);
      out.loss.push_back(a[token] >= 0 ? -a[token] * std::log(ratio[token])
                                       : a[token] * (1 - p) / p * std::log(held));
      out.slope.push_back(a[token] >= 0 ? -a[token] : -a[token] * ratio[token] / held);
    }
  }
  return out;
}

Column own_group_norm(const PlainStep& s) {
  std::vector<double> all;
  for (const auto& r : s.rollouts) {
    PlainStep own = s;
    std::erase_if(own.rollouts, [&](const PlainRollout& x) { return x.expert == 1.0; });
    const auto m = moments_of_group(own, r.group);
    all.push_back(r.expert == 1.0 ? 0.0
                  : m.size == 1   ? r.reward
                                  : (r.reward - m.mean) / (m.spread + 1e-6));
  }
  return over_tokens(s, all);
}

Column win_rate(const PlainStep& s) {
  std::vector<double> all;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    double wins = 0, size = 0;
    for (std::size_t j = 0; j < s.rollouts.size(); ++j) {
      if (s.rollouts[j].group != s.rollouts[i].group) continue;
      wins += s.rollouts[i].reward > s.rollouts[j].reward    ? 1.0
              : s.rollouts[i].reward == s.rollouts[j].reward ? 0.5
                                                             : 0.0;
      size += 1;
    }
    all.push_back(wins / size - 0.5);
  }
  return over_tokens(s, all);
}

Column kind_mean(const PlainStep& s, const Column&, const Column& keep) {
  double own = 0, experts = 0;
  std::size_t token = 0;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t, ++token)
      (r.expert == 1.0 ? experts : own) += keep[token];
  }
  std::vector<double> c;
  for (const auto& r : s.rollouts)
    c.push_back(r.length() == 0 ? 0.0 : 1 / std::max(1.0, r.expert == 1.0 ? experts : own));
  return over_tokens(s, c);
}

Column routed_mean(const PlainStep& s, const Column&, const Column& keep) {
  struct Prompt {
    double right = 0, wrong = 0, solved = 0;  // `solved`: right ones, whether or not they train
  };
  std::vector<double> kept;
  std::map<std::int64_t, Prompt> prompts;
  std::size_t token = 0;
  for (const auto& r : s.rollouts) {
    double count = 0;
    for (std::size_t t = 0; t < r.length(); ++t, ++token) count += keep[token];
    kept.push_back(count);
    if (r.expert != 1.0) prompts[r.group].solved += r.correct;
    if (r.expert != 1.0 && count > 0)
      (r.correct == 1.0 ? prompts[r.group].right : prompts[r.group].wrong) += 1;
  }
  double own = 0, expert_tokens = 0;
  const auto acts = [&](std::size_t i) {
    const Prompt& p = prompts[s.rollouts[i].group];
    return kept[i] > 0 &&
           (s.rollouts[i].expert == 1.0 ? p.solved == 0 : p.right > 0 && p.wrong > 0);
  };
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (acts(i))
      (s.rollouts[i].expert == 1.0 ? expert_tokens : own) +=
          s.rollouts[i].expert == 1.0 ? kept[i] : 1;
  }
  std::vector<double> c;
  for (std::size_t i = 0; i < kept.size(); ++i)
    c.push_back(!acts(i)                      ? 0.0
                : s.rollouts[i].expert == 1.0 ? 1 / expert_tokens
                                              : 1 / own / kept[i]);
  return over_tokens(s, c);
}

}  // namespace

void add_group_losses(PlainPieces& p) {
  p.surrogate["group_contrast"] = group_contrast;
  p.surrogate["group_labels"] = group_labels;
  p.surrogate["group_classifier"] = group_classifier;
  p.surrogate["group_regression"] = group_regression;
  p.surrogate["pair_preference"] = pair_preference;
  p.surrogate["group_alignment"] = group_alignment;
  p.surrogate["expert_mix"] = expert_mix;
  p.surrogate["next_token"] = next_token;
  p.surrogate["negative_aware"] = negative_aware;
  p.advantage["own_group_norm"] = own_group_norm;
  p.advantage["win_rate"] = win_rate;
  p.aggregate["kind-mean"] = kind_mean;
  p.aggregate["routed-mean"] = routed_mean;
}

}  // namespace rollcall::objective::test
