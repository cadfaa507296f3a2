// Plain versions of the pieces that know which rollouts were forked from others.
#include "plain/loops.hpp"

#include <cmath>
#include <set>

namespace rollcall::objective::test {
namespace {

/// The rollout that sampled a token of rollout i.
std::size_t sampler(const PlainStep& s, std::size_t i, std::size_t token) {
  const PlainRollout& r = s.rollouts[i];
  return r.parent >= 0 && double(token) < r.fork_token ? sampler(s, std::size_t(r.parent), token)
                                                       : i;
}

/// The rollouts that have this very token.
std::set<std::size_t> sharing(const PlainStep& s, std::size_t i, std::size_t token) {
  std::set<std::size_t> all;
  for (std::size_t j = 0; j < s.rollouts.size(); ++j)
    if (token < s.rollouts[j].length() && sampler(s, j, token) == sampler(s, i, token))
      all.insert(j);
  return all;
}

double value_of(const PlainStep& s, const std::set<std::size_t>& leaves) {
  double sum = 0;
  for (const std::size_t j : leaves) sum += s.rollouts[j].reward;
  return sum / double(leaves.size());
}

std::size_t depth_of(const PlainStep& s, std::size_t i, std::size_t token) {
  std::size_t depth = 0;
  for (std::size_t t = 1; t <= token; ++t)
    depth += sharing(s, i, t) != sharing(s, i, t - 1) ? 1 : 0;
  return depth;
}

Column tree_center(const PlainStep& s) {
  Column all;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    for (std::size_t t = 0; t < s.rollouts[i].length(); ++t) {
      const auto own = sharing(s, i, t);
      const std::size_t depth = depth_of(s, i, t);
      std::set<std::set<std::size_t>> seen;
      for (std::size_t j = 0; j < s.rollouts.size(); ++j)
        for (std::size_t u = 0; u < s.rollouts[j].length(); ++u)
          if (s.rollouts[j].group == s.rollouts[i].group && depth_of(s, j, u) == depth)
            seen.insert(sharing(s, j, u));
      double mean = 0, squares = 0;
      std::set<double> values;
      for (const auto& leaves : seen) values.insert(value_of(s, leaves));
      for (const auto& leaves : seen) mean += value_of(s, leaves) / double(seen.size());
      for (const auto& leaves : seen) squares += std::pow(value_of(s, leaves) - mean, 2);
      const double spread = std::sqrt(squares / double(seen.size() - 1)),
                   shared = s.choice("tree_shared", "once") == "once" ? double(own.size()) : 1.0;
      all.push_back(values.size() <
                            2  // equal values have no distance, whatever their sum rounds to
                        ? 0.0
                        : (value_of(s, own) - mean) / (spread + s.knob("adv_eps", 1e-6)) / shared);
    }
  }
  return all;
}

}  // namespace

void add_forks(PlainPieces& p) { p.advantage["tree_center"] = tree_center; }

}  // namespace rollcall::objective::test
