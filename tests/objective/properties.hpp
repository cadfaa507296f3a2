// The properties that a row may be excused from, each on one given step: the conformance suite
// demands them of random steps, and the test of the exceptions looks for a step that breaks them.
#pragma once

#include "evaluate_step.hpp"
#include "objective/recipes.hpp"

#include <random>
#include <string>

namespace rollcall::objective::test {

/// A row's objective without what regularizers add: overrides that take them away, and with them
/// what is half of a pair.
struct Free {
  explicit Free(const std::string& name, Settings overrides = {});
  Settings pieces, knobs;
  Objective made(const std::string& name) const { return Objective(name, pieces, knobs); }
};

/// A row, or a row with pieces of its own replaced.
class Subject {
 public:
  explicit Subject(const std::string& name, const Settings& pieces = {});

 private:
  Settings pieces_;  // `recipe` borrows the names

 public:
  Recipe recipe;               ///< for the plain loops
  Objective whole, objective;  ///< the row as it is, and without its regularizers
};

const Recipe& row(const std::string& name);
/// "recipe NAME" and every piece of the row, as exceptions name them.
std::vector<std::string> members(const Recipe& recipe);

/// Not the step's first update: the policy that this one starts from has gone half the way, so what
/// reads its columns has something to see.
PlainStep later(PlainStep step);

/// Rewards equal in the whole step, or in one group while the others keep theirs: groups of two and
/// more that are equal have no derivative.
bool equal_step_teaches_nothing(const Subject& s, PlainStep step, double reward);
bool equal_group_teaches_nothing(const Subject& s, PlainStep step, std::int64_t group,
                                 double reward);
/// On the policy that sampled, the derivative is -A times factor and coefficient, and the ratio
/// metrics are 1 to the bit.
bool is_policy_gradient(const Subject& s, const PlainStep& step);
/// Far outside the interval, a token stops being pushed on in its direction and can still be pulled
/// back.
bool trust_region_is_on_the_right_side(const Subject& s, PlainStep step, std::mt19937& engine);
/// Central differences of the loss, with everything that the step froze held fixed.
bool numerical_derivative_agrees(const Subject& s, PlainStep step);

/// A step that is trained on in `mini_batches` updates a pass, in two passes, the second by another
/// policy: rewards, advantages and weights of each update are those of the whole step, and what is
/// remembered is what a step of one update would leave. Under the aggregate token-sum, since
/// denominators are an update's own.
bool updates_take_what_the_step_says(const Subject& s, const PlainStep& step,
                                     std::size_t mini_batches);

/// The property of that name on a random step of this seed. Throws std::out_of_range: there is no
/// such property.
bool holds(const std::string& property, const Subject& s, std::uint32_t seed);

}  // namespace rollcall::objective::test
