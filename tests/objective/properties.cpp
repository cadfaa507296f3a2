// The properties by plain loops over one step.
#include "properties.hpp"

#include "objective/reward_sight.hpp"
#include "objective/token_advantages.hpp"

#include <algorithm>

namespace rollcall::objective::test {
namespace {

void make_equal(PlainRollout& r, double reward) {
  r.reward = reward;
  for (auto& [unused, component] : r.components) component = reward;
  r.correct = reward == 1.0 ? 1.0 : 0.0;
}

/// Has every rollout for which `equal(rollout)` says so a derivative of nothing?
template <class Equal>
bool silent(const Result& result, const PlainStep& step, Equal equal) {
  std::size_t token = 0;
  for (const auto& r : step.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t, ++token) {
      if (equal(r) && result.derivative[token] != 0.0) return false;
    }
  }
  return true;
}

}  // namespace

const Recipe& row(const std::string& name) {
  return *std::find_if(recipes().begin(), recipes().end(),
                       [&](const Recipe& r) { return r.name == name; });
}

Free::Free(const std::string& name, Settings overrides) {
  const auto piece = [&](Family family) {
    std::string chosen(row(name).piece(family));
    for (const auto& [of, other] : overrides)
      if (of == family_names[std::size_t(family)]) chosen = other;
    return chosen;
  };
  // Halves whose other half is a regularizer go with it, and a value head must be trained: by a
  // loss of weight 0.
  std::string reward;
  for (const auto& one : split_names(piece(Family::reward)))
    if (one != "none" && effect_of(one) != Effect::leaves)
      reward += (reward.empty() ? "" : "+") + one;
  const std::string advantage = piece(Family::advantage);
  const bool has_critic = advantage == "gae" || advantage == "macro_gae";
  std::erase_if(overrides,
                [](const auto& p) { return p.first == "regularizer" || p.first == "reward"; });
  pieces = std::move(overrides);
  pieces.emplace_back("reward", reward.empty() ? "none" : reward);
  pieces.emplace_back("regularizer", has_critic ? "value" : "none");
  if (has_critic) knobs.emplace_back("value_coef", "0");
}

Subject::Subject(const std::string& name, const Settings& pieces)
    : pieces_(pieces),
      recipe(row(name)),
      whole(name, pieces),
      objective(Free(name, pieces).made(name)) {
  for (const auto& [family, piece] : pieces_) {
    recipe.pieces[std::size_t(std::find(family_names.begin(), family_names.end(), family) -
                              family_names.begin())] = piece;
  }
}

std::vector<std::string> members(const Recipe& recipe) {
  std::vector<std::string> all{"recipe " + std::string(recipe.name)};
  for (std::size_t f = 0; f < family_names.size(); ++f) {
    for (const auto& piece : split_names(recipe.pieces[f]))
      all.push_back(std::string(family_names[f]) + " " + piece);
  }
  return all;
}

PlainStep later(PlainStep step) {
  for (auto& r : step.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) r.current[t] = 0.5 * (r.old[t] + r.now[t]);
  }
  return step;
}

bool equal_step_teaches_nothing(const Subject& s, PlainStep step, double reward) {
  for (auto& r : step.rollouts) make_equal(r, reward);
  const Result result = evaluate(s.objective, step);
  return all_finite(result) && silent(result, step, [&](const PlainRollout& r) {
           return moments_of_group(step, r.group).size > 1;
         });
}

bool equal_group_teaches_nothing(const Subject& s, PlainStep step, std::int64_t group,
                                 double reward) {
  for (auto& r : step.rollouts) {
    if (r.group == group) make_equal(r, reward);
  }
  if (moments_of_group(step, group).size == 1) return true;
  return silent(evaluate(s.objective, step), step,
                [&](const PlainRollout& r) { return r.group == group; });
}

bool is_policy_gradient(const Subject& s, const PlainStep& step) {
  const Result result = evaluate(s.objective, step);
  const PlainPrepared plain = plain_prepare(s.recipe, step);
  double kept = 0;
  for (std::size_t t = 0; t < plain.advantage.size(); ++t) {
    if (!near(result.derivative[t], -plain.advantage[t] * plain.factor[t] * plain.coefficient[t]))
      return false;
    kept += plain.keep[t];
  }
  return kept == 0 || (result.metrics.at("actor/ratio_min") == 1.0 &&
                       result.metrics.at("actor/ratio_max") == 1.0 &&
                       near(result.metrics.at("actor/ratio_mean"), 1.0) &&
                       result.metrics.at("actor/ppo_kl") == 0.0 &&
                       result.metrics.at("actor/pg_clipfrac") == 0.0);
}

bool trust_region_is_on_the_right_side(const Subject& s, PlainStep step, std::mt19937& engine) {
  for (auto& r : step.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t)
      r.now[t] = r.old[t] + (engine() % 2 == 0 ? 0.5 : -0.5);
  }
  const Result result = evaluate(s.objective, step);
  const PlainPrepared plain = plain_prepare(s.recipe, step);
  std::size_t token = 0;
  for (const auto& r : step.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t, ++token) {
      if (std::abs(plain.advantage[token] * plain.factor[token] * plain.coefficient[token]) < 1e-9)
        continue;
      const bool pushed_far = (plain.advantage[token] > 0) == (r.now[t] > r.old[t]);
      if ((result.derivative[token] == 0.0) != pushed_far) return false;
    }
  }
  return true;
}

bool numerical_derivative_agrees(const Subject& s, PlainStep step) {
  const auto prepared = s.whole.prepare(step.columns());
  const Column exact = values(s.whole.evaluate(*prepared, step.micro_batch(step.all())).dlogprob);
  const Column numeric = numerical_slope(step, [&](const PlainStep& moved) {
    return s.whole.evaluate(*prepared, moved.micro_batch(moved.all())).loss;
  });
  for (std::size_t t = 0; t < exact.size(); ++t) {
    if (std::abs(numeric[t] - exact[t]) > 1e-7) return false;
  }
  return true;
}

namespace {

/// Every `count`-th group from `first` on, numbered from 0, and which rollouts of the step these
/// are.
std::pair<PlainStep, std::vector<std::int64_t>> dealt(const PlainStep& step, std::size_t first,
                                                      std::size_t count) {
  PlainStep part = step;
  std::vector<std::int64_t> rollouts;
  part.rollouts.clear();
  for (const auto i : step.all()) {
    const auto& r = step.rollouts[std::size_t(i)];
    if (std::size_t(r.group) % count != first) continue;
    rollouts.push_back(i);
    part.rollouts.push_back(r);
    part.rollouts.back().group = r.group / std::int64_t(count);
  }
  return {part, rollouts};
}

}  // namespace

bool updates_take_what_the_step_says(const Subject& s, const PlainStep& step,
                                     std::size_t mini_batches) {
  Settings pieces;
  for (std::size_t f = 0; f < family_names.size(); ++f)
    pieces.emplace_back(family_names[f], family_names[f] == "aggregate"
                                             ? "token-sum"
                                             : std::string(s.recipe.pieces[f]));
  const Objective objective(std::string(s.recipe.name), pieces);
  const auto once = objective.prepare(step.columns());
  const auto whole = objective.prepare_step(step.columns());
  auto left = Objective::statistics(*whole), given = step.statistics;
  for (const PlainStep& pass : {step, later(step)}) {
    const auto reference = objective.prepare(pass.columns());
    const Column advantage = token_advantages(*reference),
                 derivative =
                     values(objective.evaluate(*reference, pass.micro_batch(pass.all())).dlogprob);
    for (std::size_t m = 0; m < mini_batches; ++m) {
      auto [part, rollouts] = dealt(pass, m, mini_batches);
      if (rollouts.empty()) continue;
      part.statistics = given;
      const auto update = objective.prepare(part.columns(), {whole, rollouts});
      const Column own = values(objective.evaluate(*update, part.micro_batch(part.all())).dlogprob);
      if (token_advantages(*update) != rearrange(pass, advantage, rollouts) ||
          !near(own, rearrange(pass, derivative, rollouts), 1e-9))
        return false;
      for (const auto& [name, value] : Objective::statistics(*update))  // what the updates move
        if (!given.contains(name) || given.at(name) != value) left[name] = given[name] = value;
    }
  }
  return left == Objective::statistics(*once);
}

bool holds(const std::string& property, const Subject& s, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<int> sizes(1 + engine() % 6);
  for (int& size : sizes) size = 1 + int(engine() % 8);
  const auto step = [&](double spread) { return random_step(sizes, seed, spread); };
  const double rewards[] = {0.0, 0.1, 1.0, -3.7};
  const double reward = rewards[engine() % 4];
  const auto group = std::int64_t(engine() % sizes.size());
  const std::map<std::string, std::function<bool()>> properties = {
      {"equal_rewards", [&] { return equal_step_teaches_nothing(s, step(0.3), reward); }},
      {"equal_group", [&] { return equal_group_teaches_nothing(s, step(0.3), group, reward); }},
      {"policy_gradient", [&] { return is_policy_gradient(s, step(0.0)); }},
      {"trust_region", [&] { return trust_region_is_on_the_right_side(s, step(0.3), engine); }},
      {"numerical_derivative", [&] { return numerical_derivative_agrees(s, later(step(0.3))); }},
      {"mini_batches", [&] { return updates_take_what_the_step_says(s, step(0.3), 2); }},
  };
  return properties.at(property)();
}

}  // namespace rollcall::objective::test
