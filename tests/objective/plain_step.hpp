// A step as plain vectors, small enough to loop over: what the tests compute by hand, and the columns the objective gets of it.
#pragma once

#include "objective/objective.hpp"

#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace rollcall::objective::test {

struct PlainRollout {
  std::int64_t group = 0;
  double reward = 0.0;
  bool truncated = false;
  std::vector<double> now, old, rollout, entropy, reference;  ///< [T] of each policy token
  std::size_t length() const { return old.size(); }
};

struct PlainStep {
  std::vector<PlainRollout> rollouts;
  double horizon = 10.0;

  std::vector<double> flat(std::vector<double> PlainRollout::*column) const {
    std::vector<double> all;
    for (const auto& r : rollouts) all.insert(all.end(), (r.*column).begin(), (r.*column).end());
    return all;
  }

  StepColumns columns() const {
    std::vector<double> reward;
    std::vector<std::int64_t> group, offsets{0};
    std::vector<std::int64_t> truncated;
    for (const auto& r : rollouts) {
      reward.push_back(r.reward);
      group.push_back(r.group);
      truncated.push_back(r.truncated);
      offsets.push_back(offsets.back() + std::int64_t(r.length()));
    }
    StepColumns c;
    c.reward = at::tensor(reward, at::kDouble);
    c.group = at::tensor(group, at::kLong);
    c.prompt_level = at::zeros_like(c.group);
    c.offsets = at::tensor(offsets, at::kLong);
    c.old_logprob = at::tensor(flat(&PlainRollout::old), at::kDouble);
    c.rollout_logprob = at::tensor(flat(&PlainRollout::rollout), at::kDouble);
    c.truncated = at::tensor(truncated, at::kLong).to(at::kBool);
    c.max_new_tokens = horizon;
    c.named["reference_logprob"] = at::tensor(flat(&PlainRollout::reference), at::kDouble);
    return c;
  }

  LeafColumns leaf(const std::vector<std::int64_t>& indices) const {
    std::vector<double> now, entropy;
    for (const auto i : indices) {
      const auto& r = rollouts[std::size_t(i)];
      now.insert(now.end(), r.now.begin(), r.now.end());
      entropy.insert(entropy.end(), r.entropy.begin(), r.entropy.end());
    }
    return {indices, at::tensor(now, at::kDouble), at::tensor(entropy, at::kDouble)};
  }

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> indices(rollouts.size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = std::int64_t(i);
    return indices;
  }
};

/// Rollouts of the given groups; lengths from 0 (nothing sampled by the policy) to 5. `spread` is the size of the log-ratios.
inline PlainStep random_step(const std::vector<int>& group_sizes, std::uint32_t seed, double spread) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.05, 3.0);
  PlainStep step;
  for (std::size_t g = 0; g < group_sizes.size(); ++g) {
    for (int i = 0; i < group_sizes[g]; ++i) {
      PlainRollout r;
      r.group = std::int64_t(g);
      r.reward = engine() % 3 == 0 ? 1.0 : engine() % 2 == 0 ? 0.0 : 0.25;
      r.truncated = engine() % 4 == 0;
      const std::size_t length = engine() % 6;
      for (std::size_t t = 0; t < length; ++t) {
        r.old.push_back(-uniform(engine));
        r.now.push_back(r.old.back() + spread * normal(engine));
        r.rollout.push_back(r.old.back() + spread * normal(engine));
        r.reference.push_back(r.old.back() + spread * normal(engine));
        r.entropy.push_back(uniform(engine));
      }
      step.rollouts.push_back(std::move(r));
    }
  }
  return step;
}

/// Evenly from [low, high). RapidCheck's own inRange keeps to the low end while its size parameter is small.
inline rc::Gen<int> any_of(int low, int high) { return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high)); }

/// Any shape: one to six groups of one to five rollouts.
inline PlainStep any_step(double spread = 0.3) {
  const auto groups = std::size_t(*any_of(1, 7));
  const auto sizes = *rc::gen::container<std::vector<int>>(groups, any_of(1, 6));
  return random_step(sizes, *rc::gen::arbitrary<std::uint32_t>(), spread);
}

inline std::vector<double> values(const at::Tensor& t) {
  const at::Tensor c = t.detach().contiguous();
  return {c.data_ptr<double>(), c.data_ptr<double>() + c.numel()};
}

inline bool near(double a, double b, double tolerance = 1e-11) { return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)}); }

inline bool near(const std::vector<double>& a, const std::vector<double>& b, double tolerance = 1e-11) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!near(a[i], b[i], tolerance)) return false;
  }
  return true;
}

}  // namespace rollcall::objective::test
