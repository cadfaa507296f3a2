// Compares two parsed answers part by part.
#pragma once

#include "reward/math/units.hpp"
#include "reward/math/values.hpp"

#include <set>
#include <string>
#include <vector>

namespace rollcall::reward::math {

/// A stretch of the line. An end that is missing is infinite.
struct Stretch {
  std::optional<Form> low{}, high{};
  bool low_open = true, high_open = true;
};
using Region = std::vector<Stretch>;

/// A value with its unit.
struct Quantity {
  Form value;
  Unit unit{};
};

/// A formula with a parameter that is any integer.
struct Family {
  Node formula;
  std::string parameter, domain;  ///< "Z" or "N"
};

class Comparison {
 public:
  /// The `part`-th part of what a comparison may cost.
  explicit Comparison(std::int64_t part = 1) : values_(part) {}
  /// Equal where that is shown, and all that either side divides by is shown to be no zero.
  Verdict verdict(const Node& reference, const Node& answer);
  /// Equal where all values in it can be computed and are defined. Different, or an exception,
  /// where something else stands in the place of a number.
  Verdict has_value(const Node& node);
  std::int64_t work() { return values_.work() + values_.algebra().polynomials().budget().spent(); }

 private:
  // structures.cpp
  Verdict compare(const Node& reference, const Node& answer);
  Verdict in_order(const std::vector<Node>& a, const std::vector<Node>& b);
  Verdict unordered(const std::vector<Node>& a, const std::vector<Node>& b, bool repetitions_count);
  Verdict matrices(const Node& a, const Node& b);
  Verdict scalars(const Node& a, const Node& b);
  Verdict words(const Node& a, const Node& b);
  Verdict lists(const Node& a, const Node& b);
  Verdict said_again(const Node& value, const std::vector<Node>& items);
  Verdict ratios(const Node& a, const Node& b);
  // clock.cpp
  std::optional<Verdict> clocks(const Node& reference, const Node& answer);
  // quantities.cpp
  Quantity quantity(const Node& node);
  Quantity sum(const Node& node);
  Verdict quantities(const Node& a, const Node& b);
  // labels.cpp
  std::optional<Verdict> equation_and_value(const Node& reference, const Node& answer);
  Verdict chain_holds(const Node& chain);
  Verdict solutions(const Node& equation, const Node& answer);
  std::optional<std::int32_t> solutions_of(const Node& equation);
  // families.cpp
  std::optional<Verdict> families(const Node& reference, const Node& answer);
  bool has_all_values(const Family& of, const Family& in);
  // relations.cpp
  Verdict relations(const Node& a, const Node& b);
  Verdict proportional(const Form& a, const Form& b, bool sign_counts);
  Form without_poles(const Form& form);
  Form leading_coefficient(const Poly& poly);
  // regions.cpp
  std::optional<Region> region(const Node& node, std::string& variable);
  std::optional<Region> region_of_relation(const Node& node, std::string& variable);
  std::optional<Region> region_of_list(const Node& node, std::string& variable);
  std::optional<Region> region_of_join(const Node& node, std::string& variable);
  std::optional<Region> region_of_size(const Node& node, std::string& variable);
  Region common(const Region& a, const Region& b);
  std::optional<Region> outside(Region region);
  std::optional<std::vector<Form>> coefficients(const Node& left, const Node& right,
                                                std::string& variable);
  std::optional<Region> between_roots(const Node& left, char sign, const Node& right,
                                      std::string& variable);
  std::optional<Stretch> half_line(const Node& left, char sign, const Node& right,
                                   std::string& variable);
  bool merge(Region& region);
  Verdict regions(Region a, Region b);
  bool is_after(const Form& a, const Form& b, bool or_equal);
  Verdict ends(const std::optional<Form>& a, const std::optional<Form>& b);

  Values values_;
};

bool is_assignment(const Node& node);  ///< x = ..., f(x) = ...: a name on the left that the right
                                       ///< side does not contain
/// The value of an assignment or a chain of equations, the set behind an "element of"; otherwise
/// the node itself.
const Node& value_of(const Node& node);
bool is_region(const Node& node);  ///< certainly an interval, a union or an inequality, no tuple
bool has_names(const Node& node);  ///< of variables
std::set<std::string> names_of(const Node& node);
/// Whether a plus-minus stands within its arithmetic; its two values.
bool has_two_signs(const Node& node);
std::vector<Node> both_signs(const Node& node);
/// The items of a list or a set, or the one value that another thing is, with both values of each
/// plus-minus.
std::vector<Node> spread(const Node& node);
int infinity_of(const Node& node);  ///< 1, -1, or 0 for what is finite

}  // namespace rollcall::reward::math
