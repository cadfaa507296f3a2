// Puts the plain pieces together, and runs a recipe's step-wide half by them.
#include "plain/plain.hpp"

#include <algorithm>
#include <numeric>

namespace rollcall::objective::test {

const PlainPieces& plain_pieces() {
  static const PlainPieces pieces = [] {
    PlainPieces p;
    add_foundation(p);
    add_clipping(p);
    add_corrections(p);
    add_offpolicy(p);
    add_group_losses(p);
    add_regularizers(p);
    add_value(p);
    add_baselines(p);
    add_baselines_more(p);
    add_shaping(p);
    add_credit(p);
    add_rewards(p);
    add_second_pass(p);
    add_conversations(p);
    add_turns(p);
    add_forks(p);
    return p;
  }();
  return pieces;
}

std::vector<std::string> split_names(std::string_view joined) {
  std::vector<std::string> names;
  if (joined == "none") return names;
  for (std::size_t begin = 0; begin <= joined.size();) {
    const auto end = std::min(joined.find('+', begin), joined.size());
    names.emplace_back(joined.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

PlainPrepared plain_prepare(const Recipe& recipe, PlainStep step) {
  const PlainPieces& p = plain_pieces();
  for (const auto& [key, value] : recipe.settings) step.knobs[std::string(key)] = value;
  for (const auto& r : step.rollouts) step.verifier.push_back(r.reward);
  for (const auto& name : split_names(recipe.piece(Family::reward))) {
    const auto shaped = p.reward.at(name)(step);
    for (std::size_t i = 0; i < shaped.size(); ++i) step.rollouts[i].reward = shaped[i];
  }
  PlainPrepared out;
  out.advantage = p.advantage.at(std::string(recipe.piece(Family::advantage)))(step);
  out.factor.assign(out.advantage.size(), 1.0), out.keep = out.factor;
  for (const auto& name : split_names(recipe.piece(Family::weight))) {
    step.keep = out.keep;
    const PlainWeight w = p.weight.at(name)(step, out.advantage);
    for (std::size_t t = 0; t < out.keep.size(); ++t) {
      if (!w.factor.empty()) out.factor[t] *= w.factor[t];
      if (!w.keep.empty()) out.keep[t] *= w.keep[t];
    }
  }
  out.coefficient =
      p.aggregate.at(std::string(recipe.piece(Family::aggregate)))(step, out.advantage, out.keep);
  for (std::size_t t = 0; t < out.keep.size(); ++t) out.coefficient[t] *= out.keep[t];
  return out;
}

Column numerical_slope(PlainStep step, const std::function<double(const PlainStep&)>& total,
                       double below, double above) {
  Column slope;
  for (auto& r : step.rollouts) {
    for (double& lp : r.now) {
      const double base = lp;
      lp = base + above;
      const double high = total(step);
      lp = base + below;
      const double low = total(step);
      lp = base;
      slope.push_back((high - low) / (above - below));
    }
  }
  return slope;
}

double mean_of(const std::vector<double>& x) {
  if (x.empty()) return 0.0;
  const auto [least, largest] = std::minmax_element(x.begin(), x.end());
  return std::clamp(std::accumulate(x.begin(), x.end(), 0.0) / double(x.size()), *least, *largest);
}

GroupMoments moments_of_group(const PlainStep& s, std::int64_t group) {
  GroupMoments m;
  std::vector<double> rewards;
  for (const auto& r : s.rollouts) {
    if (r.group == group) rewards.push_back(r.reward);
  }
  m.size = int(rewards.size());
  m.mean = mean_of(rewards);
  double squares = 0;
  for (const auto& r : s.rollouts) {
    if (r.group == group) squares += (r.reward - m.mean) * (r.reward - m.mean);
  }
  m.spread = m.size > 1 ? std::sqrt(squares / (m.size - 1)) : 0.0;
  m.population_spread = std::sqrt(squares / m.size);
  return m;
}

Column over_tokens(const PlainStep& s, const std::vector<double>& per_rollout) {
  Column all;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i)
    all.insert(all.end(), s.rollouts[i].length(), per_rollout[i]);
  return all;
}

Column plain_aggregate(const std::string& name, const PlainStep& s) {
  const Column all = s.flat(&PlainRollout::old), ones(all.size(), 1.0);
  return plain_pieces().aggregate.at(name)(s, ones, ones);
}

Column plain_advantage(const std::string& name, const PlainStep& s) {
  return plain_pieces().advantage.at(name)(s);
}

}  // namespace rollcall::objective::test
