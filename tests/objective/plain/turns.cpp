// Plain versions of the pieces that know turns.
#include "plain/loops.hpp"

#include <utility>

namespace rollcall::objective::test {
namespace {

/// A turn with what it is compared by.
struct Seen {
  std::size_t rollout = 0, index = 0;
  double reward = 0, x = 0;
  bool restarts = false;
  std::vector<std::int64_t> states;  ///< from the rollout's first turn to this one
  std::int64_t kind = 0;
};

std::vector<Seen> turns_of(const PlainStep& s) {
  std::vector<Seen> all;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    std::vector<std::int64_t> states;
    const auto turns = s.rollouts[i].all_turns();
    double paid = 0;
    for (std::size_t k = 0; k < turns.size(); ++k) {
      states.push_back(turns[k].state);
      Seen turn;
      turn.rollout = i, turn.index = k, turn.states = states, turn.kind = turns[k].kind;
      // what reward pieces have made of the rollout's reward counts at its last turn
      turn.reward = k + 1 == turns.size() ? s.rollouts[i].reward - paid : turns[k].reward;
      paid += turns[k].reward;
      turn.restarts =
          s.choice("restarts", "none") == "patched" && (turns[k].flags & turn_flag::patched) != 0;
      all.push_back(turn);
    }
  }
  return all;
}

/// x_k + gamma x_k+1 + ... up to the end of the rollout or the first turn that restarts.
std::vector<double> sums(const std::vector<Seen>& turns, const std::vector<double>& x,
                         double gamma) {
  std::vector<double> out;
  for (std::size_t k = 0; k < turns.size(); ++k) {
    double factor = 1, sum = 0;
    for (std::size_t j = k; j < turns.size() && turns[j].rollout == turns[k].rollout; ++j) {
      sum += factor * x[j], factor *= gamma;
      if (turns[j].restarts) break;
    }
    out.push_back(sum);
  }
  return out;
}

/// The places of the turns that turn k is compared with, itself among them.
template <class Same>
std::vector<std::size_t> company(std::size_t count, std::size_t k, Same same) {
  std::vector<std::size_t> all;
  for (std::size_t j = 0; j < count; ++j)
    if (j == k || same(j, k)) all.push_back(j);
  return all;
}

double against(const std::vector<double>& x, std::size_t k, const std::vector<std::size_t>& of,
               const std::string& how, bool keeps, double eps) {
  if (of.size() < 2) return keeps ? x[k] : 0.0;
  std::vector<double> values;
  for (const auto j : of) values.push_back(x[j]);
  const double mean = mean_of(values), n = double(of.size());
  if (how == "leave_one_out") return n / (n - 1) * (x[k] - mean);
  if (how == "mean") return x[k] - mean;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return (x[k] - mean) / (std::sqrt(squares / (n - 1)) + eps);
}

Column turn_center(const PlainStep& s) {
  const auto turns = turns_of(s);
  const std::string key = s.choice("turn_key", "state"), how = s.choice("turn_centre", "mean"),
                    outcome = s.choice("outcome", "center");
  const bool keeps = s.choice("turn_alone", "zero") == "itself",
             first = s.choice("turn_order", "return_then_centre") == "centre_then_return";
  const double gamma = s.knob("turn_gamma", 0.95), eps = s.knob("adv_eps", 1e-6);
  const auto group = [&](std::size_t k) { return s.rollouts[turns[k].rollout].group; };
  std::vector<double> x;
  for (const Seen& turn : turns) x.push_back(turn.reward);
  if (!first && s.choice("turn_of", "return") == "return") x = sums(turns, x, gamma);
  const auto tail_is_shared = [&](std::size_t a, std::size_t b, std::size_t h) {
    if (turns[a].states.size() < h || turns[b].states.size() < h) return false;
    for (std::size_t back = 1; back <= h; ++back) {
      const auto one = turns[a].states[turns[a].states.size() - back],
                 other = turns[b].states[turns[b].states.size() - back];
      if (one != other || one == 0) return false;
    }
    return true;
  };
  const auto same = [&](std::size_t a, std::size_t b) {
    return group(a) == group(b) && (key == "index"  ? turns[a].index == turns[b].index
                                    : key == "kind" ? turns[a].kind == turns[b].kind
                                                    : key == "group" || tail_is_shared(a, b, 1));
  };
  std::vector<double> c;
  for (std::size_t k = 0; k < turns.size(); ++k) {
    if (key != "history") {
      c.push_back(against(x, k, company(turns.size(), k, same), how, keeps, eps));
      continue;
    }
    double sum = 0, weights = 0;
    for (std::size_t h = 1; h <= std::size_t(s.knob("history", 2)); ++h) {
      const auto of = company(turns.size(), k, [&](std::size_t a, std::size_t b) {
        return group(a) == group(b) && tail_is_shared(a, b, h);
      });
      if (of.size() < 2) continue;
      const double weight = std::pow(double(h) + 1, s.knob("history_alpha", 1));
      sum += weight * against(x, k, of, how, false, eps), weights += weight;
    }
    c.push_back(weights > 0 ? sum / weights : keeps ? x[k] : 0.0);
  }
  if (first) {
    c = sums(turns, c, gamma);
    const auto terms = sums(turns, std::vector<double>(turns.size(), 1.0), 1.0);
    for (std::size_t k = 0; k < c.size() && s.choice("turn_spread", "none") == "sqrt"; ++k)
      c[k] /= std::sqrt(terms[k]);
  }
  Column all;
  for (std::size_t k = 0; k < turns.size(); ++k) {
    const PlainRollout& r = s.rollouts[turns[k].rollout];
    const GroupMoments m = moments_of_group(s, r.group);
    const double centred = m.size > 1 ? r.reward - m.mean : r.reward,
                 e = outcome == "zero"     ? 0.0
                     : outcome == "center" ? centred
                                           : centred / (m.size > 1 ? m.spread + eps : 1.0);
    // a turn without tokens is compared with none
    const auto whole = company(turns.size(), k, [&](std::size_t one, std::size_t other) {
      const auto length = [&](std::size_t t) {
        return s.rollouts[turns[t].rollout].all_turns()[turns[t].index].length;
      };
      return one == other || (length(one) > 0 && length(other) > 0);
    });
    const double z = against(x, k, whole, "standard", keeps, eps),
                 a = s.knob("outcome_weight", 1) * e + s.knob("turn_weight", 1) * c[k] +
                     s.knob("whole_weight", 0) * z;
    all.insert(all.end(), r.all_turns()[turns[k].index].length, a);
  }
  return all;
}

/// It pays turns; what rollouts are paid stays.
std::vector<double> gold_gain(const PlainStep& s) {
  std::vector<double> all;
  for (const auto& r : s.rollouts) all.push_back(r.reward);
  return all;
}

}  // namespace

void add_turns(PlainPieces& p) {
  p.advantage["turn_center"] = turn_center;
  p.reward["gold_gain"] = gold_gain;
}

}  // namespace rollcall::objective::test
