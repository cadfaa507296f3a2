// Exceptions of the losses that couple a group or know two kinds of rollouts.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_group_losses() {
  const std::string other_gradient =
      "the derivative is that of a score of the whole group, not of an advantage: shown by the hand-worked number";
  const std::string no_interval =
      "the loss is bounded or pulled back by itself and has no trust interval";
  std::vector<Exception> all;
  for (const std::string name : {"group_contrast", "group_labels", "group_classifier",
                                 "group_regression", "pair_preference", "group_alignment"}) {
    all.push_back({"surrogate " + name, "policy_gradient", other_gradient});
    all.push_back({"surrogate " + name, "trust_region", no_interval});
  }
  all.push_back(
      {"recipe inpo", "numerical_derivative",
       "its loss is in the thousands, whose last digits over a step of 1e-6 are above the tolerance: shown by the hand-worked number"});
  all.push_back(
      {"surrogate next_token", "policy_gradient",
       "it learns from an expert's rollouts and not from own ones: shown by enumerating its draws"});
  all.push_back({"surrogate next_token", "trust_region",
                 "an expert's text is no sample of an old policy: there is no interval around it"});
  all.push_back(
      {"surrogate negative_aware", "trust_region",
       "wrong answers' loss flattens out by itself, right ones' is a likelihood: no interval"});
  all.push_back({"surrogate negative_aware", "numerical_derivative",
                 "its floor bounds the value and lets the derivative through"});
  all.push_back(
      {"surrogate group_regression", "equal_rewards",
       "equal rewards are a target as well: equal log-ratios; zero where they are equal"});
  all.push_back(
      {"surrogate group_classifier", "equal_rewards",
       "labels of one class still tell a rollout from its group once their ratios differ"});
  all.push_back(
      {"recipe trpa", "equal_rewards",
       "where no prompt of the step has two levels, the method pushes rollouts one by one"});
  return all;
}

}  // namespace rollcall::objective::test
