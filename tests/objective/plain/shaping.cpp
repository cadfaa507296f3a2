// Plain versions of the pieces that shape rewards.
#include "plain/plain.hpp"

namespace rollcall::objective::test {
namespace {

/// Applies `shape(rollout index)` to every rollout.
template <class Shape>
std::vector<double> each(const PlainStep& s, Shape shape) {
  std::vector<double> r;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) r.push_back(shape(i));
  return r;
}

std::vector<double> overlong(const PlainStep& s) {
  return each(s, [&](std::size_t i) {
    const double buffer = s.knob("overlong_share", 0.2) * s.horizon,
                 over = double(s.rollouts[i].length()) - (s.horizon - buffer);
    return s.rollouts[i].reward - (over <= 0 ? 0.0 : over >= buffer ? 1.0 : over / buffer);
  });
}

std::vector<double> kl_in_reward(const PlainStep& s) {
  // see macro_gae
  if (s.choice("kl_reward_to", "rollout") == "token")
    return each(s, [&](std::size_t i) { return s.rollouts[i].reward; });
  return each(s, [&](std::size_t i) {
    const auto& r = s.rollouts[i];
    double cost = 0;
    for (std::size_t t = 0; t < r.length(); ++t)
      cost += s.knob("kl_reward_coef", 0.05) * (r.old[t] - r.reference[t]);
    return r.reward - cost;
  });
}

std::vector<double> zero_truncated(const PlainStep& s) {
  return each(s,
              [&](std::size_t i) { return s.rollouts[i].truncated ? 0.0 : s.rollouts[i].reward; });
}

std::vector<double> pass_rate_length(const PlainStep& s) {
  return each(s, [&](std::size_t i) {
    const auto& r = s.rollouts[i];
    double right = 0, size = 0;
    for (const auto& other : s.rollouts) {
      if (other.group == r.group) right += other.correct > 0 ? 1 : 0, size += 1;
    }
    const double buffer = s.knob("buffer_share", 0.2) * s.horizon,
                 over = double(r.length()) - (s.horizon - buffer);
    const double scale =
        r.correct > 0 && !r.truncated ? std::pow(right / size, s.knob("pass_power", 1)) : 1.0;
    return r.reward - s.knob("length_penalty", 1) * scale *
                          (over <= 0        ? 0.0
                           : over >= buffer ? 1.0
                                            : over / buffer);
  });
}

std::vector<double> history_length(const PlainStep& s) {
  return each(s, [&](std::size_t i) {
    const auto& r = s.rollouts[i];
    if (r.best_length == 0) return r.reward;
    const double c = double(r.length()) > 2 * r.best_length
                         ? -1.0
                         : std::cos(double(r.length()) / r.best_length * std::acos(0.0));
    return r.reward + (r.correct > 0 ? std::max(-0.7, c) : std::min(0.0, c));
  });
}

std::vector<double> decaying_exit(const PlainStep& s) {
  return each(s, [&](std::size_t i) {
    double reward = s.rollouts[i].correct;
    for (const auto& other : s.rollouts) {
      if (other.group == s.rollouts[i].group && other.correct > 0 &&
          other.length() < s.rollouts[i].length())
        reward *= 0.5;
    }
    return reward;
  });
}

std::vector<double> constrained(const PlainStep& s) {
  return each(s, [&](std::size_t i) {
    double reward = s.rollouts[i].reward;
    for (const auto& [name, value] : s.rollouts[i].components) reward = value > 0 ? reward : 0.0;
    return reward;
  });
}

std::vector<double> mode_reward(const PlainStep& s) {
  return each(s, [&](std::size_t i) {
    const auto& r = s.rollouts[i];
    const bool brief = !r.token.empty() && double(r.token[0]) == s.knob("short_token", -1);
    return r.correct > 0 ? (brief ? 1.0 : 0.5) : -1.0;
  });
}

double total(const Column& c) {
  double sum = 0;
  for (const double x : c) sum += x;
  return sum;
}

std::vector<double> unlikely(const PlainStep& s) {
  return each(s, [&](std::size_t i) {
    const auto& r = s.rollouts[i];
    int rank = 0, size = 0;
    for (const auto& other : s.rollouts) {
      if (other.group == r.group) ++size, rank += total(other.old) > total(r.old);
    }
    return r.correct > 0 ? r.reward * (1 - 0.25 * (size - rank) / size) : r.reward;
  });
}

std::vector<double> triangular_length(const PlainStep& s) {
  const double budget = std::max(1.0, std::floor(800 * std::pow(0.2, s.progress)));
  return each(s, [&](std::size_t i) {
    const double x = double(s.rollouts[i].length()) / budget;
    return 0.9 * s.rollouts[i].reward + 0.1 * (x <= 1 ? x : x <= 2 ? 2 - x : 0.0);
  });
}

std::vector<double> answer_share(const PlainStep& s) {
  return each(s, [&](std::size_t i) {
    std::map<double, double> votes;
    double n = 0, entropy = 0;
    for (const auto& other : s.rollouts) {
      if (other.group == s.rollouts[i].group) votes[other.answer] += 1, n += 1;
    }
    for (const auto& [answer, count] : votes) entropy += count / n * std::log(n / count);
    return votes[s.rollouts[i].answer] / n -
           (votes.size() == 1 ? 0.0 : 0.75 * entropy / std::log(double(votes.size())));
  });
}

}  // namespace

void add_shaping(PlainPieces& p) {
  p.reward["overlong"] = overlong;
  p.reward["kl_in_reward"] = kl_in_reward;
  p.reward["zero_truncated"] = zero_truncated;
  p.reward["pass_rate_length"] = pass_rate_length;
  p.reward["history_length"] = history_length;
  p.reward["decaying_exit"] = decaying_exit;
  p.reward["constrained"] = constrained;
  p.reward["mode_reward"] = mode_reward;
  p.reward["unlikely"] = unlikely;
  p.reward["triangular_length"] = triangular_length;
  p.reward["answer_share"] = answer_share;
}

}  // namespace rollcall::objective::test
