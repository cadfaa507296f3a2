// Plain versions of the pieces that weigh, choose and average tokens.
#include "plain/plain.hpp"

#include <algorithm>

namespace rollcall::objective::test {
namespace {

double sum_of(const Column& c) {
  double sum = 0;
  for (const double x : c) sum += x;
  return sum;
}
/// Calls f(rollout, place, token of the step) and collects what it gives.
template <class Token>
Column tokens(const PlainStep& s, Token f) {
  Column all;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) all.push_back(f(r, t, all.size()));
  }
  return all;
}
template <class Group>
void in_group(const PlainStep& s, const PlainRollout& r, Group f) {
  for (const auto& other : s.rollouts) {
    if (other.group == r.group) f(other);
  }
}

PlainWeight drop_equal_reward(const PlainStep& s, const Column&) {
  PlainStep judged = s;
  if (s.choice("equal_by", "shaped") == "verifier" && !s.verifier.empty()) {
    for (std::size_t i = 0; i < judged.rollouts.size(); ++i)
      judged.rollouts[i].reward = s.verifier[i];
  }
  const std::string which = s.choice("equal_which", "any");
  return {{}, tokens(judged, [&](const PlainRollout& r, std::size_t, std::size_t) {
            bool equal = moments_of_group(judged, r.group).size > 1;
            in_group(judged, r, [&](const PlainRollout& other) {
              equal = equal && other.reward == r.reward && (which == "any" || other.correct > 0);
            });
            return equal ? 0.0 : 1.0;
          })};
}

PlainWeight drop_pivot(const PlainStep& s, const Column&) {
  const Column draw = values(Step(s.columns()).uniform_rollouts(12));
  std::vector<double> keep(s.rollouts.size(), 1.0);
  for (std::size_t i = 0; i < keep.size(); ++i) {
    int below = 0, above = 0, size = 0;
    bool first = true;
    for (std::size_t j = 0; j < keep.size(); ++j) {
      if (s.rollouts[j].group != s.rollouts[i].group) continue;
      ++size, below += s.rollouts[j].reward<s.rollouts[i].reward, above += s.rollouts[j].reward>
                           s.rollouts[i].reward;
      if (s.rollouts[j].reward == s.rollouts[i].reward && draw[j] < draw[i]) first = false;
    }
    if (size > 2 && size % 2 == 1 && 2 * below < size && 2 * above < size && first) keep[i] = 0.0;
  }
  return {{}, over_tokens(s, keep)};
}

PlainWeight keep_advantage(const PlainStep& s, const Column& a) {
  Column keep;
  for (const double x : a)
    keep.push_back(s.choice("keep_sign", "nonzero") == "positive" ? x > 1e-9
                                                                  : x > 1e-9 || x < -1e-9);
  return {{}, keep};
}

double shift(const PlainRollout& r) {
  double sum = 0;
  for (std::size_t t = 0; t < r.length(); ++t)
    sum += (r.current.empty() ? r.old : r.current)[t] - r.reference[t];
  return sum;
}

PlainWeight confidence_penalty(const PlainStep& s, const Column& a) {
  return {tokens(s, [&](const PlainRollout& r, std::size_t, std::size_t token) {
    return a[token] < 0 ? 1 + std::log(1 + std::exp(shift(r))) : 1.0;
  })};
}

PlainWeight reference_ratio(const PlainStep& s, const Column&) {
  return {tokens(s, [&](const PlainRollout& r, std::size_t, std::size_t) {
    return std::min(1.9, std::max(1 - 0.9, std::exp(shift(r))));
  })};
}

PlainWeight novelty(const PlainStep& s, const Column& a) {
  return {tokens(s, [&](const PlainRollout& r, std::size_t, std::size_t token) {
    double mean = 0, count = 0;
    in_group(s, r, [&](const PlainRollout& other) {
      if (other.length() > 0) mean += sum_of(other.old) / double(other.length()), count += 1;
    });
    const double gain = s.knob("novelty_lambda", 1.0) *
                        (1 - std::exp(sum_of(r.old) / double(r.length()) - mean / count));
    if (r.correct == 0 || a[token] <= 1e-9 || gain <= 0) return 1.0;
    return (a[token] + std::min(gain, s.knob("novelty_cap", 1.0) * a[token])) / a[token];
  })};
}

/// The `count` best open tokens, one after the other.
Column best(const Column& score, const Column& open, const Column& draw, double count) {
  Column keep(score.size(), 0.0);
  for (int k = 0; k < int(count); ++k) {
    std::size_t at = score.size();
    for (std::size_t t = 0; t < score.size(); ++t) {
      if (open[t] == 0 || keep[t] == 1) continue;
      if (at == score.size() || float(score[t]) > float(score[at]) ||
          (float(score[t]) == float(score[at]) && draw[t] < draw[at]))
        at = t;
    }
    if (at < score.size()) keep[at] = 1;
  }
  return keep;
}

Column current_entropy(const PlainStep& s) {
  return tokens(s, [](const PlainRollout& r, std::size_t t, std::size_t) {
    return r.current_entropy.empty() ? r.entropy[t] : r.current_entropy[t];
  });
}

PlainWeight top_entropy(const PlainStep& s, const Column& a) {
  const Column open = s.keep.empty() ? Column(a.size(), 1.0) : s.keep;
  return {{},
          best(current_entropy(s), open, values(Step(s.columns()).uniform_tokens(13)),
               std::ceil(0.2 * sum_of(open) - 1e-9))};
}

PlainWeight conflict_tokens(const PlainStep& s, const Column&) {
  const auto sign = [&](const PlainRollout& r) {
    const double lead = r.reward - moments_of_group(s, r.group).mean;
    return lead > 1e-9 ? 1 : lead < -1e-9 ? -1 : 0;
  };
  return {tokens(s, [&](const PlainRollout& r, std::size_t t, std::size_t) {
    const auto shared = [&](std::size_t u, bool right) {  // u counts from the aligned end
      bool found = false;
      in_group(s, r, [&](const PlainRollout& other) {
        const auto of = [&](const PlainRollout& x) {
          return x.token[right ? x.length() - 1 - u : u];
        };
        found = found || (sign(other) * sign(r) < 0 && u < other.length() && of(other) == of(r));
      });
      return found;
    };
    bool left_run = true, right_run = true;
    for (std::size_t u = 0; u <= t; ++u) left_run = left_run && shared(u, false);
    for (std::size_t u = 0; u <= r.length() - 1 - t; ++u) right_run = right_run && shared(u, true);
    if (!left_run && !right_run) return 1.0;
    return sign(r) < 0 ? 0.0 : left_run && right_run ? 4.0 : 2.0;
  })};
}

PlainWeight drop_uncertain(const PlainStep& s, const Column&) {
  const auto mean = [](const PlainRollout& r) {
    return sum_of(r.old_entropy.empty() ? r.entropy : r.old_entropy) / double(r.length());
  };
  double first = 0, count = 0;
  for (const auto& r : s.rollouts) {
    if (r.length() > 0) first += mean(r), count += 1;
  }
  if (s.statistics.contains("first_entropy")) first = s.statistics.at("first_entropy"), count = 1;
  const bool applies = count == 0 || first / count <= std::log(2.0);
  return {tokens(s, [&](const PlainRollout& r, std::size_t, std::size_t) {
    return applies && mean(r) > std::log(2.0) ? 0.0 : 1.0;
  })};
}

PlainWeight entropy_shaping(const PlainStep& s, const Column& a) {
  Column w = current_entropy(s);
  std::size_t first = 0;
  for (const auto& r : s.rollouts) {
    double sum = 0;
    for (std::size_t t = first; t < first + r.length(); ++t) sum += w[t];
    if (s.choice("shaping_of", "token") == "response")
      for (std::size_t t = first; t < first + r.length(); ++t) w[t] = sum / double(r.length());
    first += r.length();
  }
  for (std::size_t t = 0; t < w.size(); ++t) {
    const double size = std::abs(a[t]);
    w[t] = size <= 1e-9 ? 1.0 : (a[t] + std::min(0.4 * w[t], size / 2)) / a[t];
  }
  return {w};
}

PlainWeight resample(const PlainStep& s, const Column&) {
  const Column draw = values(Step(s.columns()).uniform_rollouts(16));
  double total = 0, count = 0;
  for (const auto& r : s.rollouts) {
    if (r.length() > 0) total += r.reward * r.reward, count += 1;
  }
  if (total == 0) return {};
  std::vector<double> w;
  double had = 0, drawn = 0;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    const double expected = count * s.rollouts[i].reward * s.rollouts[i].reward / total + 1e-9;
    w.push_back(std::floor(expected) + (draw[i] < expected - std::floor(expected) ? 1 : 0));
    had += double(s.rollouts[i].length()), drawn += w[i] * double(s.rollouts[i].length());
  }
  for (double& x : w) x *= had / std::max(drawn, 1.0);
  return {over_tokens(s, w)};
}

/// Every split of `count` between the lowest and the highest is tried.
std::vector<double> widest(const std::vector<double>& a, const std::vector<double>& draw,
                           const std::vector<double>& open, std::size_t count) {
  std::vector<std::size_t> apart, zeros;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (open[i] > 0) (std::abs(a[i]) > 1e-9 ? apart : zeros).push_back(i);
  }
  std::sort(apart.begin(), apart.end(), [&](auto i, auto j) {
    return float(a[i]) != float(a[j]) ? a[i] < a[j] : draw[i] < draw[j];
  });
  std::sort(zeros.begin(), zeros.end(), [&](auto i, auto j) { return draw[i] < draw[j]; });
  std::vector<std::size_t> chosen = apart;
  double most = -1;
  for (std::size_t low = 0; low <= count && count < apart.size(); ++low) {
    std::vector<std::size_t> set(apart.begin(), apart.begin() + std::ptrdiff_t(low));
    set.insert(set.end(), apart.end() - std::ptrdiff_t(count - low), apart.end());
    double mean = 0, variance = 0;
    for (const auto i : set) mean += a[i] / double(count);
    for (const auto i : set) variance += (a[i] - mean) * (a[i] - mean) / double(count);
    if (variance > most + 1e-9) most = variance, chosen = set;
  }
  for (std::size_t k = 0; k < zeros.size() && chosen.size() < count; ++k)
    chosen.push_back(zeros[k]);
  std::vector<double> keep(a.size(), 0.0);
  for (const auto i : chosen) keep[i] = 1;
  return keep;
}

PlainWeight down_sample(const PlainStep& s, const Column& a) {
  const Step random(s.columns());
  std::vector<double> mean, open;
  std::size_t token = 0;
  for (const auto& r : s.rollouts) {
    mean.push_back(r.length() > 0 ? a[token] : 0.0), open.push_back(r.length() > 0);
    token += r.length();
  }
  const double late = s.progress, rollouts = (1 - late) * s.knob("rollouts_start", 0.25) +
                                             late * s.knob("rollouts_end", 0.5);
  const double share = (1 - late) * s.knob("tokens_start", 0.25) + late * s.knob("tokens_end", 0.5);
  const Column kept =
      over_tokens(s, widest(mean, values(random.uniform_rollouts(14)), open,
                            std::size_t(std::ceil(rollouts * sum_of(open) - 1e-9))));
  Column score = current_entropy(s);
  for (std::size_t t = 0; t < score.size(); ++t) score[t] *= std::abs(a[t]);
  return {
      {},
      best(score, kept, values(random.uniform_tokens(15)), std::ceil(share * sum_of(kept) - 1e-9))};
}

Column balanced(const PlainStep& s, const Column& a, const Column& keep) {
  std::map<std::int64_t, double> members;
  std::map<std::pair<std::int64_t, int>, std::pair<double, double>> sides;  // rollouts and tokens
  std::vector<int> side;
  std::size_t token = 0;
  for (const auto& r : s.rollouts) {
    double pull = 0, count = 0;
    for (std::size_t t = 0; t < r.length(); ++t, ++token)
      pull += a[token] * keep[token], count += keep[token];
    side.push_back(count == 0 ? 9 : pull / count > 1e-9 ? 1 : pull / count < -1e-9 ? -1 : 0);
    if (count > 0)
      members[r.group] += 1, sides[{r.group, side.back()}].first += 1,
          sides[{r.group, side.back()}].second += count;
  }
  std::vector<double> c;
  for (std::size_t i = 0; i < side.size(); ++i) {
    const auto g = s.rollouts[i].group;
    c.push_back(side[i] == 9 ? 0.0
                             : sides[{g, side[i]}].first / members[g] / sides[{g, side[i]}].second /
                                   double(members.size()));
  }
  return over_tokens(s, c);
}

Column control_token(const PlainStep& s, const Column&, const Column& keep) {
  double first = 0, rest = 0;
  tokens(s, [&](const PlainRollout&, std::size_t t, std::size_t token) {
    return (t == 0 ? first : rest) += keep[token];
  });
  return tokens(s, [&](const PlainRollout&, std::size_t t, std::size_t token) {
    return keep[token] == 0 ? 0.0 : t == 0 ? 0.001 / first : 1 / rest;
  });
}

PlainWeight drop_outliers(const PlainStep& s, const Column& a) {
  return {tokens(s, [&](const PlainRollout&, std::size_t, std::size_t token) {
    return a[token] > 3 || a[token] < -3 ? 0.0 : 1.0;
  })};
}

/// Pairs of different rollouts of the group that answer differently, over all its pairs.
PlainWeight agreement(const PlainStep& s, const Column&) {
  return {tokens(s, [&](const PlainRollout& r, std::size_t, std::size_t) {
    double differ = 0, pairs = 0;
    in_group(s, r, [&](const PlainRollout& one) {
      in_group(s, r, [&](const PlainRollout& other) {
        if (&one != &other) differ += one.answer != other.answer, pairs += 1;
      });
    });
    return pairs == 0 ? 1.0 : std::exp(-0.2 * differ / pairs);
  })};
}

PlainWeight middle_weight(const PlainStep& s, const Column&) {
  return {tokens(s, [](const PlainRollout& r, std::size_t, std::size_t) {
    return r.components.at("masked") == 1.0 ? 0.5 : 1.0;
  })};
}

}  // namespace

void add_credit(PlainPieces& p) {
  p.weight["drop_equal_reward"] = drop_equal_reward;
  p.weight["drop_pivot"] = drop_pivot;
  p.weight["keep_advantage"] = keep_advantage;
  p.weight["confidence_penalty"] = confidence_penalty;
  p.weight["reference_ratio"] = reference_ratio;
  p.weight["novelty"] = novelty;
  p.weight["top_entropy"] = top_entropy;
  p.weight["conflict_tokens"] = conflict_tokens;
  p.weight["drop_uncertain"] = drop_uncertain;
  p.weight["entropy_shaping"] = entropy_shaping;
  p.weight["drop_outliers"] = drop_outliers;
  p.weight["agreement"] = agreement;
  p.weight["middle_weight"] = middle_weight;
  p.weight["resample"] = resample;
  p.weight["down_sample"] = down_sample;
  p.aggregate["balanced"] = balanced;
  p.aggregate["control_token"] = control_token;
}

}  // namespace rollcall::objective::test
