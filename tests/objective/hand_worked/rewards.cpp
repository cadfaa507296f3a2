// Hand-worked numbers of the rows that combine components, vote, or reward what the tokens or their
// lengths show.
#include "hand_worked.hpp"

namespace rollcall::objective::test {
namespace {

PlainStep changed(const std::function<void(PlainStep&)>& change) {
  PlainStep step = worked_step();
  change(step);
  return step;
}

/// Standardised advantage of the larger of two rewards that lie x apart.
double pair_norm(double x) { return x / 2 / (x / std::sqrt(2.0) + 1e-6); }

/// worked_step() with advantages a and -a, means within rollouts, bounds 0.8 and 1.2.
HandWorked by_rollouts(double a, std::function<PlainStep()> step) {
  return {-(1.2 + 0.9) * a / 4 + 1.1 * a / 2, {0.0, -0.9 * a / 4, 1.1 * a / 2}, std::move(step)};
}

PlainStep as_json() {
  return changed([](PlainStep& step) {
    step.rollouts[0].components = {{"content", 0.5}, {"correct", 1.0}, {"validity", 1.0}},
    step.rollouts[1].components = {{"content", 0.0}, {"correct", 0.0}, {"validity", 0.75}};
  });
}

PlainStep from_the_middle() {
  return changed([](PlainStep& step) {
    step.rollouts[0].components = step.rollouts[1].components = {{"masked", 1.0}};
  });
}

PlainStep with_checklist() {
  return changed([](PlainStep& step) {
    step.rollouts[0].components = {{"a", 1.0},       {"b", 1.0}, {"c", 1.0},
                                   {"correct", 0.0}, {"d", 0.0}, {"format", 1.0}};
    step.rollouts[1].components = {{"a", 1.0},       {"b", 0.0}, {"c", 0.0},
                                   {"correct", 0.0}, {"d", 0.0}, {"format", 0.0}};
  });
}

/// Two wrong answers of four tokens at ratio 1: one says new things, the other the same.
PlainStep told() {
  return changed([](PlainStep& step) {
    const double half = std::log(0.5);
    for (auto& r : step.rollouts) {
      r.reward = r.correct = 0.0;
      r.now = r.old = r.rollout = r.reference = {half, half, half, half}, r.entropy = {1, 1, 1, 1};
    }
    step.rollouts[0].token = {5, 6, 5, 7}, step.rollouts[1].token = {5, 5, 5, 5};
  });
}

/// worked_step() and a copy of its second rollout: right by a flawed way, wrong, and right.
PlainStep with_a_flaw() {
  return changed([](PlainStep& step) {
    step.rollouts.push_back(step.rollouts[1]);
    step.rollouts[2].correct = 1.0;
    for (std::size_t i = 0; i < 3; ++i)
      step.rollouts[i].components = {{"sound", i == 2 ? 1.0 : 0.0}};
  });
}

/// worked_step() and a copy of its first rollout: two right answers push one way, the wrong one
/// another.
PlainStep one_is_novel() {
  return changed([](PlainStep& step) {
    step.rollouts.push_back(step.rollouts[0]);
    for (auto& r : step.rollouts)
      r.gradient = r.correct > 0 ? std::vector<double>{2, 0, 0} : std::vector<double>{0, 3, 0};
  });
}

/// The rule accepts neither; three of four judgements accept the first, two of four the second.
PlainStep judged() {
  return changed([](PlainStep& step) {
    for (auto& r : step.rollouts) r.reward = r.correct = 0.0;
    step.rollouts[0].components = {{"votes", 0.75}}, step.rollouts[1].components = {{"votes", 0.5}};
  });
}

PlainStep scratchpad_helps() {
  return changed([](PlainStep& step) {
    step.rollouts[0].token = {3, 0}, step.rollouts[1].token = {3};
  });
}

/// worked_step() and a second answer like the first's, at ratio 1; the verifier knows nothing. Mean
/// entropies 1, 3 and 2.
PlainStep voted() {
  return changed([](PlainStep& step) {
    step.rollouts.push_back(step.rollouts[1]);
    step.rollouts[2].now = step.rollouts[2].old;
    step.rollouts[1].answer = 1;
    step.rollouts[1].entropy = {3.0}, step.rollouts[2].entropy = {2.0};
    for (auto& r : step.rollouts) r.reward = r.correct = 0.0;
  });
}

PlainStep unsure() {
  return changed([](PlainStep& step) { step.rollouts[1].entropy = {2.0}; });
}

/// Value 1/2 everywhere, before the update and now.
PlainStep valued() {
  return changed([](PlainStep& step) {
    for (auto& r : step.rollouts) r.old_value = r.value = std::vector<double>(r.length(), 0.5);
  });
}

/// Three scorers: .9, .8 and .7 of the first answer, .9, .8 and .1 of the second. Value 1/2
/// everywhere.
PlainStep scored() {
  PlainStep step = valued();
  step.rollouts[0].components = {
      {"a", 0.9}, {"b", 0.8}, {"c", 0.7}, {"correct", 0.0}, {"format", 0.0}};
  step.rollouts[1].components = {
      {"a", 0.9}, {"b", 0.8}, {"c", 0.1}, {"correct", 1.0}, {"format", 1.0}};
  return step;
}

/// worked_step() as a prompt that was never solved before, and again as one that always was.
PlainStep hard_and_easy() {
  return changed([](PlainStep& step) {
    for (std::size_t i = 0; i < 2; ++i) {
      step.rollouts[i].prior = 0.0;
      step.rollouts.push_back(step.rollouts[i]);
      step.rollouts.back().group = 1, step.rollouts.back().prior = 1.0;
    }
  });
}

/// Of advantages of the three tokens at ratios 1.5, 0.9 and 1.1, the last negative, and of a value
/// whose errors they are: half the mean square.
HandWorked with_value(const std::vector<double>& a, const std::vector<double>& error,
                      const std::function<PlainStep()>& step = valued) {
  double squares = 0;
  for (const double e : error) squares += e * e;
  return {-(1.2 * a[0] + 0.9 * a[1] + 1.1 * a[2]) / 3 + squares / 6,
          {0.0, -0.9 * a[1] / 3, -1.1 * a[2] / 3},
          step};
}

std::vector<double> whitened(std::vector<double> x) {
  const double mean = (x[0] + x[1] + x[2]) / 3;
  double squares = 0;
  for (const double v : x) squares += (v - mean) * (v - mean) / 3;
  for (double& v : x) v = (v - mean) / (std::sqrt(squares) + 1e-8);
  return x;
}

}  // namespace

HandWorkedTable worked_rewards() {
  const double flaw = 1 / (1 + 1e-6), told_a = pair_norm(0.1), sure = pair_norm(1.0);
  // rewards 1, 0, 1: mean 2/3, spread 1/sqrt(3)
  const double vote = 1.0 / 3 / (1 / std::sqrt(3.0) + 1e-6);
  const double scaled = 4 / std::sqrt(10.0);
  const double norm = 0.5 / (0.5 + 1e-4);  // rewards 1 and 0 by their own moments, 1/2 and 1/2:
                                           // +-norm
  // Cosine at 2 and at 1 of 10 tokens: right 1 + (1 + cos(pi/5)) / 2, wrong -10 (1 + cos(pi/10)) /
  // 2; less the value 1/2.
  const double right = 1.5 + std::cos(std::acos(-1.0) / 5) / 2 - 0.5,
               wrong = -5 - 5 * std::cos(std::acos(-1.0) / 10) - 0.5;
  return {
      // 0.5 + 1 against 0 + 0.75.
      {"rl-struct", {by_rollouts(pair_norm(0.75), as_json)}},
      // A sentence in the middle was asked for: half of grpo's loss, over the same two rollouts.
      {"rlpt", {by_rollouts(0.5 * pair_norm(1.0), from_the_middle)}},
      // 3/4 and 1/4 of the constraints. Wanted: half of 10 tokens; two are 3/5 off, one 4/5: 0.75 -
      // 0.15 against 0.25 - 0.2.
      {"ace-rl", {by_rollouts(pair_norm(0.55), with_checklist)}},
      // Pairs 56, 65, 57: (3 - 1) / (3 - 1), a bonus of 0.1; 55, 55, 55: 0.
      {"multirole-r1",
       {0.0,
        {-told_a / 8, -told_a / 8, -told_a / 8, -told_a / 8, told_a / 8, told_a / 8, told_a / 8,
         told_a / 8},
        told}},
      // Rewards 0, -1, 1: mean 0, spread 1. The flawed success is in the middle.
      {"fapo", {0.0, {0.0, 0.0, 1.1 * flaw / 4, -1.1 * flaw / 4}, with_a_flaw}},
      // nu = 0.1192, 1, 0.1192: the wrong answer is the novel one and has -1 + 1. Rewards 1, 0, 1:
      // A = vote, -2 vote, vote; means of two, one and two tokens: (-2.1 / 2 + 2.2 - 2.1 / 2) vote
      // / 3.
      {"g2rl",
       {0.1 * vote / 3,
        {0.0, -0.9 * vote / 6, 2.2 * vote / 3, 0.0, -0.9 * vote / 6},
        one_is_novel}},
      // 3/4 is most, 1/2 is not.
      {"spell", {by_rollouts(pair_norm(1.0), judged)}},
      // Token 0 helped: 1 + 0.5 against 0.
      {"geometryzero-gcpo", {by_rollouts(pair_norm(1.5), scratchpad_helps)}},
      // Two votes against one: A = vote, -2 vote, vote. (-1.2 - 0.9 + 2.2 - 1) vote / 4.
      {"ttrl", {-0.9 * vote / 4, {0.0, -0.9 * vote / 4, 2.2 * vote / 4, -vote / 4}, voted}},
      // The same by factors 2 - 1/2, 2 - 3/2 and 2 - 2/2: (-1.5 * 2.1 + 0.5 * 2.2 - 1) vote / 4.
      {"ettrl", {-3.05 * vote / 4, {0.0, -1.35 * vote / 4, 1.1 * vote / 4, -vote / 4}, voted}},
      // -1 against -2: (-1.2 - 0.9 + 1.1) sure / 3.
      {"rent", {-sure / 3, {0.0, -0.3 * sure, 1.1 * sure / 3}, unsure}},
      // One-step errors 0, norm - 1/2; -norm - 1/2. A = 0.95 (norm - 1/2), norm - 1/2; -norm - 1/2.
      {"ppo-max",
       {with_value({0.95 * (norm - 0.5), norm - 0.5, -norm - 0.5},
                   {0.95 * (norm - 0.5), norm - 0.5, -norm - 0.5})}},
      // lambda 1: the same at both tokens of the first; standardised for the policy, not for the
      // value.
      {"demystify-long-cot", {with_value(whitened({right, right, wrong}), {right, right, wrong})}},
      // The least scores, .7 and .1, less the value 1/2.
      {"rm-ensemble-wco-uwo", {with_value({0.19, 0.2, -0.4}, {0.19, 0.2, -0.4}, scored)}},
      // Factors 2 x 1.5 and 1 x 1.5: rewards 3, 0 and 1.5, 0; advantages +-1.5 and +-.75, of spread
      // sqrt(1.40625): +-4/sqrt(10), +-2/sqrt(10). Within a prompt the loss is -(1.2 + 0.9) / 2 +
      // 1.1 = 0.05 of the advantage, over four rollouts.
      {"dr-irl-grpo-s",
       {0.05 * 1.5 * scaled / 4,
        {0.0, -0.9 * scaled / 8, 1.1 * scaled / 4, 0.0, -0.45 * scaled / 8, 0.55 * scaled / 4},
        hard_and_easy}},
  };
}

}  // namespace rollcall::objective::test
