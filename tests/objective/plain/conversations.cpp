// Plain versions of the pieces that know what conversations did: flags, calls, shared steps, masked
// answers, visited states.
#include "core/derivation.hpp"
#include "plain/loops.hpp"

#include <set>

namespace rollcall::objective::test {
namespace {

/// What the k-th turn is paid where the rollout is paid `reward`: the last one gets the difference.
double paid(const PlainRollout& r, std::size_t k) {
  const auto turns = r.all_turns();
  if (k + 1 < turns.size()) return turns[k].reward;
  double before = 0;
  for (std::size_t j = 0; j + 1 < turns.size(); ++j) before += turns[j].reward;
  return r.reward - before;
}

/// One number for each turn, f(rollout, place of the turn), on the turn's tokens.
template <class Function>
Column over_turns(const PlainStep& s, Function f) {
  Column all;
  for (const auto& r : s.rollouts) {
    const auto turns = r.all_turns();
    for (std::size_t k = 0; k < turns.size(); ++k) all.insert(all.end(), turns[k].length, f(r, k));
  }
  return all;
}

double standard(const PlainStep& s, const PlainRollout& r) {
  const GroupMoments m = moments_of_group(s, r.group);
  return m.size > 1 ? (r.reward - m.mean) / (m.spread + 1e-6) : r.reward;
}

Column shared_steps(const PlainStep& s) {
  return over_turns(s, [&](const PlainRollout& r, std::size_t k) {
    const PlainTurn own = r.all_turns()[k];
    std::vector<double> alike;
    for (const auto& other : s.rollouts) {
      const auto turns = other.all_turns();
      if (other.group == r.group && k < turns.size() && own.state > 0 && own.action > 0 &&
          turns[k].state == own.state && turns[k].action == own.action)
        alike.push_back(standard(s, other));
    }
    return alike.empty() ? standard(s, r) : mean_of(alike);
  });
}

Column first_answers(const PlainStep& s) {
  const auto refined = [](const PlainRollout& r) {
    return r.derived == double(DerivedKind::refinement);
  };
  std::vector<double> all;
  for (const auto& r : s.rollouts) {
    std::vector<double> own;
    for (const auto& other : s.rollouts)
      if (other.group == r.group && !refined(other)) own.push_back(other.reward);
    all.push_back(!refined(r) && own.size() == 1 ? r.reward : r.reward - mean_of(own));
  }
  return over_tokens(s, all);
}

Column action_reward(const PlainStep& s) {
  PlainStep outcomes = s;
  for (auto& r : outcomes.rollouts) r.reward = paid(r, r.all_turns().size() - 1), r.turns.clear();
  std::vector<double> relative;
  for (const auto& r : outcomes.rollouts) relative.push_back(standard(outcomes, r));
  Column all;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    const auto turns = s.rollouts[i].all_turns();
    for (std::size_t k = 0; k < turns.size(); ++k)
      all.insert(all.end(), turns[k].length,
                 relative[i] + (k + 1 < turns.size() ? turns[k].reward : 0.0));
  }
  return all;
}

double masked_at(const PlainRollout& r, std::size_t t) {
  return r.masked.empty() ? r.old[t] : r.masked[t];
}

/// What the answer to turn k changed of what was said in turn k + 1.
double gain(const PlainRollout& r, std::size_t k) {
  const auto turns = r.all_turns();
  std::size_t first = 0;
  for (std::size_t j = 0; j <= k; ++j) first += turns[j].length;
  double sum = 0;
  for (std::size_t t = first; t < first + turns[k + 1].length; ++t)
    sum += r.old[t] - masked_at(r, t);
  return sum / std::max(double(turns[k + 1].length), 1.0);
}

Column gated_gain(const PlainStep& s) {
  return over_turns(s, [&](const PlainRollout& r, std::size_t k) {
    const GroupMoments m = moments_of_group(s, r.group);
    const double a = standard(s, r);
    if (k + 1 == r.all_turns().size()) return a;
    std::vector<double> gains;
    for (const auto& other : s.rollouts)
      for (std::size_t j = 0; other.group == r.group && j + 1 < other.all_turns().size(); ++j)
        gains.push_back(gain(other, j));
    if (gains.size() < 2) return a;
    double squares = 0;
    for (const double g : gains) squares += (g - mean_of(gains)) * (g - mean_of(gains));
    const double z = (gain(r, k) - mean_of(gains)) /
                     (std::sqrt(squares / double(gains.size() - 1)) + 1e-6),
                 variance = m.size > 1 ? m.population_spread * m.population_spread : 0.0;
    return a + std::exp(-variance / 0.1) * z;
  });
}

std::int64_t bit_of(const std::string& flag) {
  return flag == "invalid" ? turn_flag::invalid
         : flag == "error" ? turn_flag::error
         : flag == "void"  ? turn_flag::void_turn
                           : turn_flag::repeated;
}

PlainWeight drop_flagged(const PlainStep& s, const Column&) {
  const std::int64_t bit = bit_of(s.choice("drop_flag", "void"));
  std::vector<double> keep;
  for (const auto& r : s.rollouts) {
    bool bad = false;
    for (const PlainTurn& turn : r.all_turns()) bad = bad || (turn.flags & bit) != 0;
    keep.push_back(bad ? 0.0 : 1.0);
  }
  return {{}, over_tokens(s, keep)};
}

PlainWeight entropy_lift(const PlainStep& s, const Column&) {
  const auto entropy = [](const PlainRollout& r, std::size_t t) {
    return r.old_entropy.empty() ? r.entropy[t] : r.old_entropy[t];
  };
  return {for_each_token(s, [&](const PlainRollout& r, std::size_t t) {
    double sum = 0, squares = 0, n = 0;
    for (const auto& other : s.rollouts)
      for (std::size_t u = 0; other.group == r.group && u < other.length(); ++u)
        sum += entropy(other, u), n += 1;
    for (const auto& other : s.rollouts)
      for (std::size_t u = 0; other.group == r.group && u < other.length(); ++u)
        squares += std::pow(entropy(other, u) - sum / n, 2);
    return std::max(0.0, 1 + 0.2 * (entropy(r, t) - sum / n) / (std::sqrt(squares / n) + 1e-6));
  })};
}

double dependency_of(const PlainRollout& r, std::size_t t) {
  const double x = std::clamp(masked_at(r, t) - r.old[t], -20.0, 20.0);
  return std::max(std::exp(x) - x - 1.0, 0.0);
}

double mean_dependency(const PlainRollout& r) {
  double sum = 0;
  for (std::size_t t = 0; t < r.length(); ++t) sum += dependency_of(r, t);
  return r.length() == 0 ? 0.0 : sum / double(r.length());
}

PlainWeight dependency(const PlainStep& s, const Column&) {
  const Column draws = values(Step(s.columns()).uniform_tokens(19));
  PlainWeight w;
  std::size_t first = 0;
  for (const auto& r : s.rollouts) {
    double sum = 0, n = 0;
    for (const auto& other : s.rollouts)
      if (other.group == r.group && other.length() > 0) sum += mean_dependency(other), n += 1;
    double open = 0;
    bool rests = false;
    const auto may = [&](std::size_t t) { return s.keep.empty() || s.keep[first + t] > 0; };
    for (std::size_t t = 0; t < r.length(); ++t)
      if (may(t)) open += 1, rests = rests || float(dependency_of(r, t)) > 0;
    for (std::size_t t = 0; t < r.length(); ++t) {
      double before = 0;
      for (std::size_t u = 0; u < r.length(); ++u) {
        const float mine = float(dependency_of(r, t)), other = float(dependency_of(r, u));
        before +=
            may(u) && (other > mine || (other == mine && draws[first + u] < draws[first + t]));
      }
      w.factor.push_back(sum > 0 ? mean_dependency(r) / (sum / n) : 1.0);
      w.keep.push_back(may(t) && (!rests || before < std::ceil(0.4 * open - 1e-9)) ? 1.0 : 0.0);
    }
    first += r.length();
  }
  return w;
}

std::vector<double> few_calls(const PlainStep& s) {
  const auto calls = [](const PlainRollout& r) {
    double m = 0;
    for (const PlainTurn& turn : r.all_turns()) m += turn.kind == 1;
    return m;
  };
  std::vector<double> all;
  for (const auto& r : s.rollouts) {
    double n = 1e300;
    for (const auto& other : s.rollouts)
      if (other.group == r.group && other.correct > 0) n = std::min(n, calls(other));
    const double m = calls(r);
    all.push_back(r.correct <= 0 ? 0.0
                  : m == 0       ? 1.0  // then n is 0 as well
                  : n == 0       ? std::cos(m * M_PI / (2 * m + 1))
                                 : std::sin(2 * n * m / (m + n) * M_PI / (2 * n)));
  }
  return all;
}

std::vector<double> retries(const PlainStep& s) {
  std::vector<double> all;
  for (const auto& r : s.rollouts) {
    double read = 0, fresh = 0;
    const auto turns = r.all_turns();
    for (const PlainTurn& turn : turns) {
      if ((turn.flags & turn_flag::invalid) != 0) continue;
      read += 1, fresh += (turn.flags & turn_flag::repeated) == 0;
    }
    all.push_back((r.correct > 0.5 ? std::pow(0.5, double(turns.size() - 1)) : 0.0) -
                  (read > 0 ? 0.5 * (1 - fresh / read) : 0.0));
  }
  return all;
}

std::vector<double> coverage(const PlainStep& s) {
  std::vector<double> all;
  for (const auto& r : s.rollouts) {
    std::set<std::int64_t> seen;
    double reached = 0;
    for (const PlainTurn& turn : r.all_turns()) {
      seen.insert(turn.state);
      if (turn.next_state != 0 && seen.insert(turn.next_state).second) reached += 1;
    }
    all.push_back(reached);
  }
  return all;
}

/// The value below which the share of x lies, between its neighbours.
double quantile(std::vector<double> x, double share) {
  std::sort(x.begin(), x.end());
  const double place = share * double(x.size() - 1);
  const auto below = std::size_t(place);
  return below + 1 < x.size() ? x[below] + (place - double(below)) * (x[below + 1] - x[below])
                              : x[below];
}

std::vector<double> routed_cost(const PlainStep& s) {
  const auto root = [](const PlainRollout& r) {
    return std::sqrt(std::max(r.components.contains("cost") ? r.components.at("cost") : 0.0, 0.0));
  };
  std::vector<double> costs, all;
  for (const auto& r : s.rollouts)
    if (r.length() > 0) costs.push_back(root(r));
  const auto moved = [&](const char* name, double share) {
    const double own = quantile(costs, share);
    const auto before = s.statistics.find(name);
    return before == s.statistics.end() ? own : (before->second + own) / 2;
  };
  const double low = costs.empty() ? 0.0 : moved("cost_low", 0.05),
               high = costs.empty() ? 0.0 : moved("cost_high", 0.95);
  for (const auto& r : s.rollouts) {
    const double u = high > low ? 1 - std::clamp((root(r) - low) / (high - low), 0.0, 1.0) : 1.0,
                 format = r.components.contains("format") ? r.components.at("format") : 0.0;
    all.push_back(format < 0.5 ? -1.0 : r.correct > 0.5 ? 0.5 + 0.5 * u : 0.0);
  }
  return all;
}

/// They pay turns; what rollouts are paid stays.
std::vector<double> as_they_were(const PlainStep& s) {
  std::vector<double> all;
  for (const auto& r : s.rollouts) all.push_back(r.reward);
  return all;
}

/// In a step whose turns no piece of reward pays it is clip.
TokenLosses turn_scaled(const PlainStep&, const Column& a, const Column& ratio) {
  TokenLosses out;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const auto [loss, clipped] = plain_clip(ratio[t], a[t], 0.2, 0.2);
    out.loss.push_back(loss), out.slope.push_back(clipped ? 0.0 : -a[t] * ratio[t]);
  }
  return out;
}

TokenLosses turn_kl(const PlainStep& s) {
  TokenLosses out;
  for (const auto& r : s.rollouts)
    for (std::size_t t = 0; t < r.length(); ++t) {
      const double d = std::clamp(r.reference[t] - r.now[t], -20.0, 20.0), k3 = std::exp(d) - d - 1;
      out.loss.push_back(0.01 * std::min(k3, 10.0));
      out.slope.push_back(k3 > 10.0 ? 0.0 : 0.01 * (1 - std::exp(d)));
    }
  return out;
}

}  // namespace

void add_conversations(PlainPieces& p) {
  p.advantage["shared_steps"] = shared_steps, p.advantage["first_answers"] = first_answers;
  p.advantage["action_reward"] = action_reward, p.advantage["gated_gain"] = gated_gain;
  p.weight["drop_flagged"] = drop_flagged, p.weight["entropy_lift"] = entropy_lift;
  p.weight["dependency"] = dependency;
  p.reward["few_calls"] = few_calls, p.reward["retries"] = retries;
  p.reward["coverage"] = coverage, p.reward["progress"] = as_they_were;
  p.reward["routed_cost"] = routed_cost;
  p.surrogate["turn_scaled"] = turn_scaled;
  p.regularizer["turn_kl"] = turn_kl;
}

}  // namespace rollcall::objective::test
