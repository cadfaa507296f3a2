// Compares two parsed answers part by part.
#pragma once

#include "reward/math/values.hpp"

#include <vector>

namespace rollcall::reward::math {

/// A stretch of the line. An end that is missing is infinite.
struct Stretch {
  std::optional<Form> low{}, high{};
  bool low_open = true, high_open = true;
};
using Region = std::vector<Stretch>;

class Comparison {
 public:
  Verdict compare(const Node& reference, const Node& answer);
  std::int64_t work() { return values_.work() + values_.algebra().budget().spent(); }

 private:
  // structures.cpp
  Verdict in_order(const std::vector<Node>& a, const std::vector<Node>& b);
  Verdict unordered(const std::vector<Node>& a, const std::vector<Node>& b, bool repetitions_count);
  Verdict matrices(const Node& a, const Node& b);
  Verdict scalars(const Node& a, const Node& b);
  Verdict words(const Node& a, const Node& b);
  Verdict lists(const Node& a, const Node& b);
  // relations.cpp
  Verdict relations(const Node& a, const Node& b);
  Verdict proportional(const Form& a, const Form& b, bool sign_counts);
  Form without_poles(const Form& form);
  Form leading_coefficient(const Poly& poly);
  // regions.cpp
  std::optional<Region> region(const Node& node);
  std::optional<Region> region_of_relation(const Node& node);
  std::optional<Stretch> half_line(const Node& left, char sign, const Node& right, std::string& variable);
  bool merge(Region& region);
  Verdict regions(Region a, Region b);
  Verdict ends(const std::optional<Form>& a, const std::optional<Form>& b);

  Values values_;
};

bool is_assignment(const Node& node);  ///< x = ..., f(x) = ...: a name on the left that the right side does not contain
/// The value of an assignment or a chain of equations, the set behind an "element of"; otherwise the node itself.
const Node& value_of(const Node& node);
bool is_region(const Node& node);   ///< certainly an interval, a union or an inequality, no tuple
int infinity_of(const Node& node);  ///< 1, -1, or 0 for what is finite

}  // namespace rollcall::reward::math
