// Hand-worked numbers of the rows that know what conversations did.
#include "core/derivation.hpp"
#include "hand_worked.hpp"

#include <array>

namespace rollcall::objective::test {
namespace {

const double kHalf = std::log(0.5);

/// One prompt, two conversations of two turns of one token each, all of probability 1/2 and ratio
/// 1. The first is right, the second wrong; `paid` says what their turns are paid.
PlainStep two_conversations(const std::array<double, 4>& paid = {0.0, 1.0, 0.0, 0.0}) {
  PlainStep step;
  step.horizon = 10.0;
  for (std::size_t i = 0; i < 2; ++i) {
    PlainRollout r;
    for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference}) column->assign(2, kHalf);
    r.entropy.assign(2, 1.0), r.turns.resize(2);
    r.correct = i == 0 ? 1.0 : 0.0;
    for (std::size_t k = 0; k < 2; ++k)
      r.turns[k].reward = paid[2 * i + k], r.reward += paid[2 * i + k];
    step.rollouts.push_back(std::move(r));
  }
  return step;
}

/// The wrong one has a turn that is neither a call nor an answer.
PlainStep with_void_turn() {
  PlainStep step = two_conversations();
  step.rollouts[1].turns[1].flags = turn_flag::void_turn;
  return step;
}

/// worked_step() whose second rollout was cut off.
PlainStep with_cut() {
  PlainStep step = worked_step();
  step.rollouts[1].truncated = true;
  return step;
}

/// Both begin with the same action in the same state.
PlainStep with_shared_step() {
  PlainStep step = two_conversations();
  for (std::size_t i = 0; i < 2; ++i) {
    auto& turns = step.rollouts[i].turns;
    turns[0].state = turns[0].action = 1, turns[1].action = 2;
    turns[1].state = std::int64_t(2 + i);
  }
  return step;
}

/// Both are right, the first with one call and the second with two.
PlainStep with_calls() {
  PlainStep step = two_conversations();
  step.rollouts[1].correct = 1.0;
  step.rollouts[0].turns[0].kind = 1;
  for (auto& turn : step.rollouts[1].turns) turn.kind = 1;
  return step;
}

/// The wrong one gives its answer twice.
PlainStep with_repetition() {
  PlainStep step = two_conversations();
  step.rollouts[1].turns[1].flags = turn_flag::repeated;
  return step;
}

/// A first attempt that is put right, and one that is spoilt. The reference finds the first token
/// half as likely.
PlainStep with_attempts() {
  PlainStep step = two_conversations({0.0, 1.0, 1.0, 0.0});
  step.rollouts[0].reference[0] = std::log(0.25);
  return step;
}

/// What was told to the first one raised what it said next by 0.4.
PlainStep with_told() {
  PlainStep step = two_conversations();
  step.rollouts[0].masked = {kHalf, kHalf - 0.4};
  step.rollouts[1].masked = {kHalf, kHalf};
  return step;
}

/// Where what was told is masked, one token of the first is half as likely, one of the second twice.
PlainStep with_dependency() {
  PlainStep step = two_conversations();
  step.rollouts[0].masked = {kHalf, 2 * kHalf};
  step.rollouts[1].masked = {0.0, kHalf};
  return step;
}

/// The first visits 1, 2 and 4, the second 1 and 3, and 1 again.
PlainStep with_visits() {
  PlainStep step = two_conversations();
  const std::int64_t state[] = {1, 2, 1, 3}, next[] = {2, 4, 3, 1};
  for (std::size_t k = 0; k < 4; ++k) {
    auto& turn = step.rollouts[k / 2].turns[k % 2];
    turn.state = state[k], turn.next_state = next[k];
  }
  return step;
}

/// worked_step() whose first rollout has entropies 0.2 and 0.6.
PlainStep half_decided() {
  PlainStep step = worked_step();
  step.rollouts[0].current_entropy = {0.2, 0.6}, step.rollouts[1].current_entropy = {1.0};
  return step;
}

/// worked_step() and a correct refinement of two tokens, of probability 0.1 and 0.9.
PlainStep with_refinement() {
  PlainStep step = worked_step();
  PlainRollout r;
  r.reward = r.correct = 1.0, r.derived = double(DerivedKind::refinement);
  for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference})
    *column = {std::log(0.1), std::log(0.9)};
  r.entropy.assign(2, 1.0);
  step.rollouts.push_back(std::move(r));
  return step;
}

/// worked_step() and an expert's answer of two tokens, each of probability 1/2.
PlainStep with_solution() {
  PlainStep step = worked_step();
  PlainRollout r;
  r.reward = r.correct = r.expert = 1.0;
  for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference}) column->assign(2, kHalf);
  r.entropy.assign(2, 1.0);
  step.rollouts.push_back(std::move(r));
  return step;
}

/// worked_step(): the whole way, at 0.9 and 0.8 of the comfort; and a collision.
PlainStep driven() {
  PlainStep step = worked_step();
  step.rollouts[0].components = {{"correct", 1.0}, {"lane", 0.9}, {"comfort", 0.8}};
  step.rollouts[1].components = {{"correct", 1.0}, {"lane", 0.9}, {"comfort", 0.0}};
  return step;
}

/// worked_step(): the call asked for, and one with a wrong value of two.
PlainStep called() {
  PlainStep step = worked_step();
  step.rollouts[0].components = {{"correct", 1.0}, {"format", 1.0}, {"match", 1.0}};
  step.rollouts[1].components = {{"correct", 0.0}, {"format", 1.0}, {"match", 0.75}};
  return step;
}

/// worked_step(): a right answer with cheaper help, and one without the form asked for.
PlainStep routed() {
  PlainStep step = worked_step();
  step.rollouts[0].components = {{"format", 1.0}, {"cost", 4.0}};
  step.rollouts[1].components = {{"format", 0.0}, {"cost", 9.0}};
  return step;
}

/// Loss and derivative of four tokens of ratio 1 with these advantages, each with the coefficient c.
HandWorked of_advantages(const std::vector<double>& a, std::function<PlainStep()> step,
                         double c = 0.25) {
  HandWorked worked{0.0, {}, std::move(step)};
  for (const double one : a) worked.loss -= c * one, worked.derivative.push_back(-c * one);
  return worked;
}

/// The same with a value head at 0, whose targets are the advantages.
HandWorked with_value(const std::vector<double>& a, std::function<PlainStep()> step) {
  HandWorked worked = of_advantages(a, std::move(step));
  for (const double one : a) worked.loss += 0.25 * one * one / 2;
  return worked;
}

}  // namespace

HandWorkedTable worked_conversations() {
  const double e = 1e-6, root = std::sqrt(2.0), a = 0.5 / (1 / root + e), ln2 = std::log(2.0);
  // The z-score of the larger of two numbers x and 0: x / 2 over x / sqrt(2).
  const auto z = [&](double x) { return x / 2 / (x / root + e); };
  // Mean entropy 0.4 of the first rollout, whose gain of 0.16 is within a / 2; 0.4 of the second,
  // which is held at a / 2.
  const double shaped = 1 + 0.16 / a, gate = std::exp(-2.5);
  const auto k3 = [](double ratio) { return 1 / ratio + std::log(ratio) - 1; };
  HandWorked attempts{
      0.01 * (ln2 - 0.5) / 4, {-2.5 + 0.005 / 4, -2.625, 2.5, 2.625}, with_attempts};
  const double own = 0.684, later = 0.72;
  // clang-format off
  return {
      // The second leaves loss and denominator: two tokens with A = a.
      {"simpletir", {-a, {-a / 2, -a / 2, 0.0, 0.0}, with_void_turn}},
      // Two tokens stay, with the advantage that both rewards give them.
      {"mini-o3", {(-1.2 - 0.9) * a / 2, {0.0, -0.9 * a / 2, 0.0}, with_cut}},
      // The shared first step has the mean of a and -a.
      {"salt-trajectory-graph", {of_advantages({0.0, a, 0.0, -a}, with_shared_step)}},
      // One call of one needed is worth 1, two are sin(2/3 pi).
      {"otc-po", {of_advantages({z(1 - std::sqrt(3.0) / 2), z(1 - std::sqrt(3.0) / 2), -z(1 - std::sqrt(3.0) / 2), -z(1 - std::sqrt(3.0) / 2)}, with_calls)}},
      // Rewards 1/2 for the second try and -1/4 for a repetition, carried back by lambda 0.95.
      {"ufo-try-again", {with_value({0.475, 0.5, -0.2375, -0.25}, with_repetition)}},
      // Paid 0, 1 + 10 and 1, 0 - 10: returns 11, 11 and -9, -10, less their means 1 and 1/2. The
      // loss of the policy is -A lp / 4, which cancels; the divergence is that of one token.
      {"score-self-correct", {attempts}},
      // Rewards 1 + 6 and 1 + 4.5; grpo's loss.
      {"toolrl", {((-1.2 - 0.9) / 4 + 1.1 / 2) * z(1.5), {0.0, -0.9 * z(1.5) / 4, 1.1 * z(1.5) / 2}, called}},
      // Rewards 1 and -1, the first carried back by lambda 0.95. The reference is the old policy: k3 of the ratios at 0.001.
      {"router-r1", {
       (-1.2 * 0.95 - 0.9 + 1.1 + (0.95 * 0.95 + 1 + 1) / 2) / 3 + 0.001 * (k3(1.5) + k3(0.9) + k3(1.1)) / 3,
        {0.001 * (1 - 1 / 1.5) / 3, -0.9 / 3 + 0.001 * (1 - 1 / 0.9) / 3, 1.1 / 3 + 0.001 * (1 - 1 / 1.1) / 3}, routed}},
      // Outcomes 1/2 and 0 of the last turns; the first turn of the first earned 1/2 for itself.
      {"mashost-hrpo", {of_advantages({z(0.5) + 0.5, z(0.5), -z(0.5), -z(0.5)}, [] { return two_conversations({0.5, 0.5, 0.0, 0.0}); })}},
      // Gains 0.4 and 0 of the first turns; the outcomes' variance is 1/4.
      {"infopo", {of_advantages({a + gate * z(0.4), a, -a - gate * z(0.4), -a}, with_told)}},
      // d = ln 2 - 1/2 and 1 - ln 2, each on one token of two: weights 4 d, whose mean is 1. The other tokens leave.
      {"vppo", {-a * 4 * (ln2 - 0.5) / 2 + a * 4 * (1 - ln2) / 2, {0.0, -a * 2 * (ln2 - 0.5), a * 2 * (1 - ln2), 0.0}, with_dependency}},
      // Gains 1, 1 and 1, 0: returns 2, 1 and 1, 0, +-1 against the other at both indices.
      // -A lp over two rollouts cancels.
      {"subpo", {0.0, {-0.5, -0.5, 0.5, 0.5}, with_visits}},
      // Own answers +-1/2, the refinement 1 - 1/2; -A lp over five tokens.
      {"rltf", {
       -0.5 * (std::log(0.75) + std::log(0.45) - std::log(0.55) + std::log(0.1) + std::log(0.9)) / 5,
        {-0.1, -0.1, 0.1, -0.1, -0.1}, with_refinement}},
      {"funrl", {(-1.2 - 0.9) * a * shaped / 4 + 1.1 * a * 0.5 / 2, {0.0, -0.9 * a * shaped / 4, 0.55 * a / 2}, half_decided}},
      // g = 0.9: a tenth of the clipped loss over three tokens, and nine tenths of the likelihood over two.
      {"datamind", {
       0.1 * (-1.2 - 0.9 + 1.1) * a / 3 - 0.9 * kHalf,
        {0.0, -0.09 * a / 3, 0.11 * a / 3, -0.45, -0.45}, with_solution}},
      // 1 x 0.9 x 0.8 = 0.72 at the last token, 0.95 of it at the first, and 0 for the collision.
      {"carl-driving", {
       (-1.2 * own - 0.9 * later + (own * own + later * later) / 2) / 3, {0.0, -0.9 * later / 3, 0.0}, driven}},
  };
  // clang-format on
}

}  // namespace rollcall::objective::test
