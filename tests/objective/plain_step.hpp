// A step as plain vectors, small enough to loop over: what the tests compute by hand, and the
// columns the objective gets of it.
#pragma once

#include "core/derivation.hpp"
#include "core/rollout.hpp"
#include "objective/columns.hpp"
#include "objective/objective.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace rollcall::objective::test {

/// A turn of a conversation: how many policy tokens it has and what the environment made of it.
struct PlainTurn {
  std::size_t length = 1;
  double reward = 0.0;
  std::int64_t state = 0, kind = 0, flags = 0;
  double gold = -1.0;  ///< mean log-prob of the reference answer behind it
  std::int64_t action = 0, next_state = 0;
};

struct PlainRollout {
  std::int64_t group = 0;
  double reward = 0.0;
  bool truncated = false;
  std::vector<double> now, old, rollout, entropy, reference;  ///< [T] of each policy token
  /// The optional columns of columns.hpp. Those per token may be left empty: current is then old,
  /// teacher and flat_reference (the
  /// reference's root, normalised) are reference, the rest is 0.
  std::vector<double> teacher{}, teacher_kl{}, current{}, current_entropy{}, old_entropy{},
      sum_squares{}, old_value{}, value{}, flat_reference{};
  std::vector<double> reasoning_step{}, probe_accuracy{}, probe_confidence{}, given{};
  std::vector<double> masked{};  ///< where what was told before is masked; empty: old
  std::vector<std::int64_t> token{};
  std::vector<double> gradient{0.0, 0.0, 0.0};  ///< by the states that the head reads, in three
                                                ///< directions
  double prior = 0.5, posterior = 0.5, predicted = 0.5, best_length = 0, answer = 0, correct = 0,
         greedy = 0, expert = 0, lag = 0, tier = 0, derived = 0, opening = 0;
  double parent = -1, fork_token = -1;  ///< place of the rollout that it was forked from
  std::map<std::string, double> components{};
  std::int64_t key = 0;
  /// Empty: one turn of all tokens, with the state, next state and flags of the rollout.
  std::vector<PlainTurn> turns{};
  std::int64_t state = 0, next_state = 0, flags = 0;
  double gold_before = -1.5;  ///< mean log-prob of the reference answer before the first turn
  /// The turns; a rollout without any has one, which is paid its reward.
  std::vector<PlainTurn> all_turns() const {
    return turns.empty()
               ? std::vector<PlainTurn>{{length(), reward, state, 0, flags, -1.0, 0, next_state}}
               : turns;
  }
  std::size_t length() const { return old.size(); }
};

struct PlainStep {
  std::vector<PlainRollout> rollouts;
  double horizon = 10.0;
  double progress = 0.0;
  std::uint64_t index = 0;
  std::map<std::string, double> statistics{};
  std::vector<double> verifier{};  ///< [B] rewards before they were shaped, for plain weights;
                                   ///< empty: they were not
  std::vector<double> trains{};    ///< [B] what the scheduler lets train; empty: all
  std::vector<double> keep{};  ///< [N] what earlier weight pieces kept, for plain weights; empty:
                               ///< all tokens
  bool with_offsets = false;   ///< columns() says where turns begin also where each rollout has one
  std::map<std::string, std::string> knobs{};  ///< settings that plain pieces are to use instead of
                                               ///< their defaults

  double knob(const std::string& name, double otherwise) const {
    return knobs.contains(name) ? std::stod(knobs.at(name)) : otherwise;
  }
  std::string choice(const std::string& name, const std::string& otherwise) const {
    return knobs.contains(name) ? knobs.at(name) : otherwise;
  }

  std::vector<double> flat(std::vector<double> PlainRollout::*column) const {
    std::vector<double> all;
    for (const auto& r : rollouts) all.insert(all.end(), (r.*column).begin(), (r.*column).end());
    return all;
  }

  /// A column that may have been left empty.
  at::Tensor optional(std::vector<double> PlainRollout::*column,
                      std::vector<double> PlainRollout::*otherwise) const {
    std::vector<double> all;
    for (const auto& r : rollouts) {
      for (std::size_t t = 0; t < r.length(); ++t)
        all.push_back(!(r.*column).empty() ? (r.*column)[t] : otherwise ? (r.*otherwise)[t] : 0.0);
    }
    return at::tensor(all, at::kDouble);
  }
  at::Tensor per_rollout(double PlainRollout::*column) const {
    std::vector<double> all;
    for (const auto& r : rollouts) all.push_back(r.*column);
    return at::tensor(all, at::kDouble);
  }
  /// The cosine between two rollouts' gradients; 0 where one has none.
  double cosine(const PlainRollout& a, const PlainRollout& b) const {
    double aa = 0, bb = 0, ab = 0;
    for (std::size_t k = 0; k < 3; ++k)
      aa += a.gradient[k] * a.gradient[k], bb += b.gradient[k] * b.gradient[k],
          ab += a.gradient[k] * b.gradient[k];
    return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0.0;
  }
  /// Where turns begin, and what columns of turns hold.
  void add_turns(StepColumns& c) const {
    std::vector<double> reward, state, kind, flags, gold, action, next;
    std::vector<std::int64_t> offsets{0}, begin{0};
    bool several = with_offsets;
    for (const auto& r : rollouts) {
      for (const PlainTurn& turn : r.all_turns()) {
        reward.push_back(turn.reward), gold.push_back(turn.gold);
        state.push_back(double(turn.state)), kind.push_back(double(turn.kind)),
            flags.push_back(double(turn.flags));
        action.push_back(double(turn.action)), next.push_back(double(turn.next_state));
        begin.push_back(begin.back() + std::int64_t(turn.length));
      }
      offsets.push_back(std::int64_t(reward.size()));
      several = several || r.turns.size() > 1;
    }
    if (several)
      c.turn_offsets = at::tensor(offsets, at::kLong), c.turn_begin = at::tensor(begin, at::kLong);
    c.named[column::turn_reward] = at::tensor(reward, at::kDouble);
    c.named[column::turn_state] = at::tensor(state, at::kDouble);
    c.named[column::turn_kind] = at::tensor(kind, at::kDouble);
    c.named[column::turn_flags] = at::tensor(flags, at::kDouble);
    c.named[column::turn_action] = at::tensor(action, at::kDouble);
    c.named[column::turn_next_state] = at::tensor(next, at::kDouble);
    c.named[column::gold_logprob] = at::tensor(gold, at::kDouble);
    c.named[column::gold_logprob_before] = per_rollout(&PlainRollout::gold_before);
  }
  void add_optional(StepColumns& c) const {
    std::vector<double> cosines;
    for (const auto& r : rollouts)
      for (const auto& other : rollouts)
        if (other.group == r.group) cosines.push_back(cosine(r, other));
    c.named[column::gradient_cosine] = at::tensor(cosines, at::kDouble);
    std::vector<std::int64_t> token, key;
    for (const auto& r : rollouts) {
      key.push_back(r.key);
      for (std::size_t t = 0; t < r.length(); ++t)
        token.push_back(r.token.empty() ? 0 : r.token[t]);
      for (const auto& [name, unused] : r.components) {
        std::vector<double> values;
        for (const auto& other : rollouts)
          values.push_back(other.components.contains(name) ? other.components.at(name) : 0.0);
        c.named["component/" + name] = at::tensor(values, at::kDouble);
      }
    }
    c.token = at::tensor(token, at::kLong), c.key = at::tensor(key, at::kLong);
    c.named[column::reference_logprob] = at::tensor(flat(&PlainRollout::reference), at::kDouble);
    c.named[std::string(column::flat_reference).append("0.5")] =
        optional(&PlainRollout::flat_reference, &PlainRollout::reference);
    c.named[column::teacher_logprob] = optional(&PlainRollout::teacher, &PlainRollout::reference);
    c.named[column::teacher_kl] = optional(&PlainRollout::teacher_kl, nullptr);
    c.named[column::current_logprob] = optional(&PlainRollout::current, &PlainRollout::old);
    c.named[column::current_entropy] =
        optional(&PlainRollout::current_entropy, &PlainRollout::entropy);
    c.named[column::old_entropy] = optional(&PlainRollout::old_entropy, &PlainRollout::entropy);
    c.named[column::sum_squares] = optional(&PlainRollout::sum_squares, nullptr);
    c.named[column::reasoning_step] = optional(&PlainRollout::reasoning_step, nullptr);
    c.named[column::probe_accuracy] = optional(&PlainRollout::probe_accuracy, nullptr);
    c.named[column::probe_confidence] = optional(&PlainRollout::probe_confidence, nullptr);
    c.named[column::given] = optional(&PlainRollout::given, nullptr);
    c.named[column::masked_logprob] = optional(&PlainRollout::masked, &PlainRollout::old);
    c.named[column::tier] = per_rollout(&PlainRollout::tier);
    c.named[column::derived] = per_rollout(&PlainRollout::derived);
    c.named[column::opening] = per_rollout(&PlainRollout::opening);
    c.named[column::parent] = per_rollout(&PlainRollout::parent);
    c.named[column::fork_token] = per_rollout(&PlainRollout::fork_token);
    c.named[column::value] = optional(&PlainRollout::old_value, nullptr);
    c.named[column::prior] = per_rollout(&PlainRollout::prior);
    c.named[column::posterior] = per_rollout(&PlainRollout::posterior);
    c.named[column::predicted] = per_rollout(&PlainRollout::predicted);
    c.named[column::prompt_best_length] = per_rollout(&PlainRollout::best_length);
    c.named[column::answer] = per_rollout(&PlainRollout::answer);
    c.named[column::correct] = per_rollout(&PlainRollout::correct);
    c.named[column::greedy_reward] = per_rollout(&PlainRollout::greedy);
    c.named[column::expert] = per_rollout(&PlainRollout::expert);
    c.named[column::version_lag] = per_rollout(&PlainRollout::lag);
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
    if (!trains.empty()) c.trains = at::tensor(trains, at::kDouble);
    c.seed = 7, c.step = index, c.progress = progress, c.statistics = statistics;
    add_optional(c);
    add_turns(c);
    return c;
  }

  MicroBatchColumns micro_batch(const std::vector<std::int64_t>& indices) const {
    std::vector<double> now, entropy, value;
    for (const auto i : indices) {
      const auto& r = rollouts[std::size_t(i)];
      for (std::size_t t = 0; t < r.length(); ++t)
        value.push_back(r.value.empty() ? 0.0 : r.value[t]);
      now.insert(now.end(), r.now.begin(), r.now.end());
      entropy.insert(entropy.end(), r.entropy.begin(), r.entropy.end());
    }
    return {indices, at::tensor(now, at::kDouble), at::tensor(entropy, at::kDouble),
            at::tensor(value, at::kDouble)};
  }

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> indices(rollouts.size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = std::int64_t(i);
    return indices;
  }
};

/// Steps of one or two tokens, of which the last is open where `key` says so, and what a probe
/// found behind each.
inline void add_reasoning(PlainRollout& r) {
  const auto length = std::int64_t(r.length());
  for (std::int64_t t = 0; t < length; ++t) {
    const std::int64_t step = (t + r.key % 2) / 2, seen = r.key / (step + 7) % 11;
    const bool open = r.key % 3 == 0 && t + 1 == length;
    r.reasoning_step.push_back(open ? -1.0 : double(step));
    r.probe_accuracy.push_back(open ? 0.0 : 0.1 * double(seen));
    r.probe_confidence.push_back(open       ? 0.0
                                 : seen > 7 ? 1.0
                                            : 0.15 * double((seen * 3 + step) % 6));
  }
}

/// Rollouts of the given groups; lengths from 0 (nothing sampled by the policy) to 5, the token
/// limit. `spread` is the size of the log-ratios.
inline PlainStep random_step(const std::vector<int>& group_sizes, std::uint32_t seed,
                             double spread) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.05, 3.0);
  PlainStep step;
  step.horizon = 5.0;
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
        r.flat_reference.push_back(0.5 * r.reference.back() - 0.1);
        r.teacher.push_back(r.old.back() + spread * normal(engine));
        r.teacher_kl.push_back(0.1 * uniform(engine));
        r.current.push_back(r.old.back());
        r.current_entropy.push_back(r.entropy.back());
        r.old_entropy.push_back(r.entropy.back());
        r.sum_squares.push_back(0.3 * uniform(engine));
        r.masked.push_back(r.old.back() - r.sum_squares.back() + 0.2);
        r.old_value.push_back(uniform(engine) / 3);
        r.value.push_back(r.old_value.back() + 0.1 * normal(engine));
        r.token.push_back(std::int64_t(engine() % 4));
      }
      r.prior = 0.1 + 0.25 * uniform(engine);
      r.posterior = 1.0 - 0.7 * r.prior, r.predicted = r.prior * r.prior;
      r.best_length = double(engine() % 5);
      r.correct = r.reward == 1.0 ? 1.0 : 0.0;
      r.answer = r.correct == 1.0 ? 0.0 : double(1 + engine() % 3);
      if (r.answer == 3.0) r.answer = -1.0;  // none was found
      r.greedy = double(engine() % 2);
      r.lag = double(engine() % 3);
      r.components = {{"correct", r.correct}, {"format", double(engine() % 2)}};
      r.key = std::int64_t(engine());
      r.gradient = {double(r.key % 7) - 3, double(r.key / 7 % 7) - 3, double(r.key / 49 % 7) - 3};
      r.state = r.key % 3, r.next_state = r.key / 3 % 4;
      r.flags = r.key % 7 == 3 ? turn_flag::void_turn : 0;
      add_reasoning(r);
      r.components["sound"] = double(r.key % 3 == 0),
      r.components["votes"] = double(r.key / 3 % 5) / 4;
      r.components["masked"] = double(r.group % 2);
      r.components["match"] = double(r.key / 11 % 5) / 4;
      r.components["cost"] = double(r.key / 13 % 7);
      r.derived = r.key % 4 == 3 ? double(DerivedKind::counterpart) : 0.0;
      step.rollouts.push_back(std::move(r));
    }
  }
  return step;
}

/// Evenly from [low, high). RapidCheck's own inRange keeps to the low end while its size parameter
/// is small.
inline rc::Gen<int> any_of(int low, int high) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high));
}

/// Any shape: one to six groups of one to five rollouts.
inline PlainStep any_step(double spread = 0.3) {
  const auto groups = std::size_t(*any_of(1, 7));
  // some larger than the sets of four that Pass@k draws from a group
  const auto sizes = *rc::gen::container<std::vector<int>>(groups, any_of(1, 9));
  return random_step(sizes, *rc::gen::arbitrary<std::uint32_t>(), spread);
}

/// Makes the rollout one with help, of which its first tokens may be given, or a refinement.
inline void derive(PlainRollout& r) {
  if (r.key % 5 == 2) {
    r.derived = double(DerivedKind::hint), r.tier = double(1 + r.key / 5 % 3);
    for (std::size_t t = 0; t < r.length(); ++t)
      r.given.push_back(double(std::int64_t(t) < r.key / 15 % 4));
  } else if (r.key % 5 == 4) {
    r.derived = double(DerivedKind::refinement);
  }
}

/// Some step of training in which some rollouts are an expert's, and some had help or refine others.
inline PlainStep step_with_experts() {
  PlainStep step = any_step();
  step.index = std::uint64_t(*any_of(0, 1000));
  for (auto& r : step.rollouts) r.expert = double(r.key % 4 == 0), derive(r);
  return step;
}

/// Gives three rollouts in four turns of their own, up to three, of which some may be empty, and
/// shares their tokens and their reward out among them.
inline PlainStep in_turns(PlainStep step) {
  for (auto& r : step.rollouts) {
    const auto count = 1 + r.key % 4;
    if (count > 3) continue;
    std::size_t left = r.length();
    double rest = r.reward;
    for (std::int64_t k = 1; k <= count; ++k) {
      PlainTurn turn;
      turn.length = k == count ? left : std::min(left, std::size_t(r.key / (5 * k) % 3));
      turn.reward = k == count ? rest : 0.25 * double(r.key / (7 * k) % 3);
      left -= turn.length, rest -= turn.reward;
      turn.state = r.key / (11 * k) % 3, turn.kind = r.key / (13 * k) % 2;
      turn.flags = r.key / (17 * k) % 2 == 0 ? 0 : turn_flag::patched;
      if (r.key / (23 * k) % 5 == 0) turn.flags |= turn_flag::void_turn;
      if (r.key / (29 * k) % 3 == 0) turn.flags |= turn_flag::repeated;
      if (r.key / (31 * k) % 6 == 0) turn.flags |= turn_flag::invalid;
      turn.action = r.key / (37 * k) % 3, turn.next_state = r.key / (41 * k) % 4;
      turn.gold = -0.2 * double(1 + r.key / (19 * k) % 5);
      r.turns.push_back(turn);
    }
  }
  return step;
}

inline std::vector<double> values(const at::Tensor& t) {
  const at::Tensor c = t.detach().contiguous();
  return {c.data_ptr<double>(), c.data_ptr<double>() + c.numel()};
}

inline bool near(double a, double b, double tolerance = 1e-11) {
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

inline bool near(const std::vector<double>& a, const std::vector<double>& b,
                 double tolerance = 1e-11) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!near(a[i], b[i], tolerance)) return false;
  }
  return true;
}

}  // namespace rollcall::objective::test
