// Plain versions of the pieces that combine components, or make rewards of votes, tokens and
// lengths.
#include "plain/plain.hpp"

#include <algorithm>
#include <set>

namespace rollcall::objective::test {
namespace {

/// Applies `shape(rollout)` to every rollout.
template <class Shape>
std::vector<double> each(const PlainStep& s, Shape shape) {
  std::vector<double> r;
  for (const auto& rollout : s.rollouts) r.push_back(shape(rollout));
  return r;
}

template <class Function>
void for_group(const PlainStep& s, const PlainRollout& r, Function f) {
  for (const auto& other : s.rollouts) {
    if (other.group == r.group) f(other);
  }
}

std::vector<double> components(const PlainStep& s) {
  const std::string combine = s.choice("combine", "sum"),
                    omitted = ", " + s.choice("omit_components", "none") + ",",
                    weighed = s.choice("component_weights", "none");  // one alone
  const auto weight = [&](const std::string& name) {
    return weighed.starts_with(name + "=") ? std::stod(weighed.substr(name.size() + 1)) : 1.0;
  };
  return each(s, [&](const PlainRollout& r) {
    double sum = 0, product = 1, n = 0, least = 1e300;
    for (const auto& [name, c] : r.components)
      if (omitted.find(", " + name + ",") == std::string::npos)
        sum += weight(name) * c, product *= std::max(c, 0.0), least = std::min(least, c), n += 1;
    if (n == 0) return r.reward;
    if (combine == "min") return least;
    return combine == "mean"                            ? sum / n
           : combine == "product"                       ? product
           : combine == "conditional" && r.correct <= 0 ? 0.0
                                                        : sum;
  });
}

struct Runs {
  double all = 0;
  std::set<std::vector<std::int64_t>> distinct;
};
Runs runs(const PlainRollout& r, std::size_t n) {
  Runs found;
  for (std::size_t t = 0; t + n <= r.token.size(); ++t) {
    found.all += 1;
    found.distinct.insert(
        {r.token.begin() + std::ptrdiff_t(t), r.token.begin() + std::ptrdiff_t(t + n)});
  }
  return found;
}
double repeated(const PlainRollout& r, std::size_t n) {
  const Runs found = runs(r, n);
  return found.all == 0 ? 0.0 : (found.all - double(found.distinct.size())) / found.all;
}

std::vector<double> repetition(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r) {
    return r.reward - repeated(r, std::size_t(s.knob("repetition_n", 3)));
  });
}

std::vector<double> gradient_novelty(const PlainStep& s) {
  const auto sign = [](const PlainRollout& r) { return r.correct > 0 ? 1.0 : -1.0; };
  const auto score = [&](const PlainRollout& r) {
    double weight = 0, alike = 0;
    for_group(s, r, [&](const PlainRollout& other) {
      if (&other == &r || other.length() == 0) return;
      weight += std::exp(sign(other)),
          alike += std::exp(sign(other)) * std::pow(s.cosine(r, other), 2);
    });
    return weight == 0 ? 1.0 : std::max(1 - alike / weight, 0.0);
  };
  const double lambda = s.knob("novelty_lambda", 1), limit = s.knob("novelty_limit", 3);
  return each(s, [&](const PlainRollout& r) {
    double least = score(r), most = least;
    for_group(s, r, [&](const PlainRollout& other) {
      if (other.length() > 0)
        least = std::min(least, score(other)), most = std::max(most, score(other));
    });
    const double novel =
        r.length() == 0 || most - least < 1e-6 ? 0.0 : (score(r) - least) / (most - least);
    const double gain =
        lambda * novel * (s.choice("novel_mistakes", "spared") == "spared" ? 1.0 : sign(r));
    return std::clamp(sign(r) + gain, -limit, limit);
  });
}

std::vector<double> diversity(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r) {
    const Runs found = runs(r, 2);
    return r.reward +
           (found.all < 2 ? 0.0 : 0.1 * (double(found.distinct.size()) - 1) / (found.all - 1));
  });
}

std::vector<double> degenerate(const PlainStep& s) {
  return each(s, [](const PlainRollout& r) {
    return r.truncated || repeated(r, 4) > 0.5 ? -1.0 : r.reward;
  });
}

std::vector<double> majority_vote(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r) {
    std::map<double, int> votes;
    int most = 2;
    for_group(s, r, [&](const PlainRollout& other) { votes[other.answer] += other.answer >= 0; });
    for (const auto& [unused, count] : votes) most = std::max(most, count);
    return votes[r.answer] == most ? 1.0 : 0.0;
  });
}

double mean_entropy(const PlainRollout& r) {
  double sum = 0;
  for (std::size_t t = 0; t < r.length(); ++t)
    sum += r.old_entropy.empty() ? r.entropy[t] : r.old_entropy[t];
  return r.length() == 0 ? 0.0 : sum / double(r.length());
}

std::vector<double> confidence(const PlainStep& s) {
  return each(s, [](const PlainRollout& r) { return -mean_entropy(r); });
}

double component(const PlainRollout& r, const std::string& name) {
  return r.components.contains(name) ? r.components.at(name) : 0.0;
}

std::vector<double> flawed(const PlainStep& s) {
  return each(s, [](const PlainRollout& r) {
    return r.correct <= 0 ? -1.0 : component(r, "sound") > 0 ? 1.0 : 0.0;
  });
}

std::vector<double> rule_or_votes(const PlainStep& s) {
  return each(s, [](const PlainRollout& r) {
    return r.correct > 0 || component(r, "votes") > 0.5 ? 1.0 : 0.0;
  });
}

std::vector<double> contrast(const PlainStep& s) {
  const auto uses = [&](const PlainRollout& r) {
    return std::find(r.token.begin(), r.token.end(), std::int64_t(s.knob("behaviour_token", 0))) !=
           r.token.end();
  };
  const auto side = [&](const PlainRollout& r) {
    return r.opening > 0 ? r.opening == s.knob("behaviour_opening", 1) : uses(r);
  };
  return each(s, [&](const PlainRollout& r) {
    double right[2] = {0, 0}, size[2] = {0, 0};
    for_group(s, r, [&](const PlainRollout& other) {
      right[side(other)] += other.correct > 0, size[side(other)] += 1;
    });
    if (!uses(r) || size[0] == 0 || size[1] == 0) return r.reward;
    const double gap = right[1] / size[1] - right[0] / size[0];
    return r.reward + (gap > 0.1 ? 0.5 : gap < -0.1 ? -0.5 : 0.0);
  });
}

std::vector<double> calibrated(const PlainStep& s) {
  return each(s, [](const PlainRollout& r) { return 1 / (1 + std::exp(1 - r.reward)); });
}

std::vector<double> kl_limit(const PlainStep& s) {
  return each(s, [](const PlainRollout& r) {
    double gone = 0;
    for (std::size_t t = 0; t < r.length(); ++t) gone += r.old[t] - r.reference[t];
    return gone > 5 ? 0.0 : r.reward;
  });
}

std::vector<double> group_length(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r) {
    double shortest = 1e9, longest = 0;
    for_group(s, r, [&](const PlainRollout& other) {
      if (other.length() > 0)
        shortest = std::min(shortest, double(other.length())),
        longest = std::max(longest, double(other.length()));
    });
    if (s.progress < 0.5 || r.length() == 0 || longest <= shortest) return r.reward;
    const double l = 0.5 - (double(r.length()) - shortest) / (longest - shortest);
    return r.reward + 0.5 * (r.correct > 0 ? l : std::min(0.0, l));
  });
}

std::vector<double> length_target(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r) {
    return r.reward -
           0.25 * std::min(1.0, std::abs(double(r.length()) - s.horizon / 2) / (s.horizon / 2));
  });
}

std::vector<double> cosine_length(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r) {
    if (r.truncated) return -10.0;
    const double c = (1 + std::cos(double(r.length()) / s.horizon * std::acos(-1.0))) / 2;
    return r.correct > 0 ? 1 + c : -10 * c;
  });
}

std::vector<double> moving_norm(const PlainStep& s) {
  const auto before = [&](const std::string& name) {
    return s.statistics.contains(name) ? s.statistics.at(name) : 0.0;
  };
  double count = before("moving_count"), sum = before("moving_sum"),
         squares = before("moving_squares");
  for (const auto& r : s.rollouts) {
    if (r.length() > 0) count += 1, sum += r.reward, squares += r.reward * r.reward;
  }
  if (count == 0) return each(s, [](const PlainRollout& r) { return r.reward; });
  const double spread = std::sqrt(std::max(0.0, squares / count - sum / count * sum / count));
  return each(s, [&](const PlainRollout& r) {
    return std::min(5.0, std::max(-5.0, (r.reward - sum / count) / (spread + 1e-4)));
  });
}

std::vector<double> difficulty_scale(const PlainStep& s) {
  return each(s, [&](const PlainRollout& r) {
    std::vector<double> solved, earned;
    for_group(s, r, [&](const PlainRollout& other) {
      solved.push_back(other.prior), earned.push_back(other.reward);
    });
    return r.reward * (2 - mean_of(solved)) * (1 + std::max(0.0, 1 - mean_of(earned)));
  });
}

/// A success stays while fewer than `most` successes of the step have a smaller draw.
PlainWeight curate(const PlainStep& s, const Column&) {
  const Column draw = values(Step(s.columns()).uniform_rollouts(19));
  double failures = 0;
  std::vector<bool> counts;
  std::size_t token = 0;
  for (const auto& r : s.rollouts) {
    double kept = 0;
    for (std::size_t t = 0; t < r.length(); ++t, ++token)
      kept += s.keep.empty() ? 1.0 : s.keep[token];
    counts.push_back(kept > 0);
    failures += counts.back() && r.correct == 0 ? 1 : 0;
  }
  const double most = std::max(1.0, std::floor(0.25 * failures + 0.5));
  std::vector<double> keep(s.rollouts.size(), 1.0);
  for (std::size_t i = 0; i < keep.size(); ++i) {
    double before = 0;
    for (std::size_t j = 0; j < keep.size(); ++j)
      before += counts[j] && s.rollouts[j].correct == 1 && draw[j] < draw[i] ? 1 : 0;
    if (s.rollouts[i].correct == 1 && counts[i] && before >= most) keep[i] = 0.0;
  }
  return {{}, over_tokens(s, keep)};
}

PlainWeight entropy_balance(const PlainStep& s, const Column&) {
  return {over_tokens(s, each(s, [&](const PlainRollout& r) {
                        double sum = 0, n = 0;
                        for_group(s, r, [&](const PlainRollout& other) {
                          sum += mean_entropy(other), n += other.length() > 0;
                        });
                        return sum == 0
                                   ? 1.0
                                   : std::max(0.0, 1 + (sum / n - mean_entropy(r)) / (sum / n));
                      }))};
}

}  // namespace

void add_rewards(PlainPieces& p) {
  p.reward["components"] = components;
  p.reward["repetition"] = repetition;
  p.reward["diversity"] = diversity;
  p.reward["gradient_novelty"] = gradient_novelty;
  p.reward["degenerate"] = degenerate;
  p.reward["majority_vote"] = majority_vote;
  p.reward["confidence"] = confidence;
  p.reward["flawed"] = flawed;
  p.reward["rule_or_votes"] = rule_or_votes;
  p.reward["contrast"] = contrast;
  p.reward["calibrated"] = calibrated;
  p.reward["kl_limit"] = kl_limit;
  p.reward["group_length"] = group_length;
  p.reward["length_target"] = length_target;
  p.reward["cosine_length"] = cosine_length;
  p.reward["moving_norm"] = moving_norm;
  p.reward["difficulty_scale"] = difficulty_scale;
  p.weight["curate"] = curate;
  p.weight["entropy_balance"] = entropy_balance;
}

}  // namespace rollcall::objective::test
