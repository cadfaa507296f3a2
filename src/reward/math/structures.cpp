// Lists, sets, tuples, matrices, words, and numbers with units.
#include "reward/math/comparison.hpp"
#include "reward/math/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rollcall::reward::math {
namespace {

constexpr const char* kKinds = "an expression of another kind";

bool has_several(const Node& node) {
  return node.kind == Kind::list || node.kind == Kind::set || has_two_signs(node) ||
         (node.kind == Kind::relation && has_two_signs(value_of(node)));
}

/// The values of x = 1, y = 2 in the order of their names; none where an item is another thing, or
/// a name comes twice.
std::optional<std::vector<Node>> named_values(const Node& list) {
  std::map<std::string, Node> values;
  for (const Node& item : list.children)
    if (!is_assignment(item) || item.children[0].kind != Kind::symbol ||
        !values.emplace(item.children[0].text, item.children[1]).second)
      return std::nullopt;
  std::vector<Node> in_order;
  for (auto& [name, value] : values) in_order.push_back(std::move(value));
  return in_order.size() > 1 ? std::optional(std::move(in_order)) : std::nullopt;
}

bool is_structure(const Node& node) {
  return node.kind == Kind::bracketed || node.kind == Kind::matrix || node.kind == Kind::join ||
         has_several(node);
}

/// 2 + 3 = 5, and x = 2 + 3 = 5.
bool is_chain(const Node& node) {
  return node.kind == Kind::relation && node.text.find_first_not_of('=') == std::string::npos &&
         !has_two_signs(node.children.back());
}

/// A product or a quotient of one matrix and numbers, its factors within the matrix; none for
/// anything else.
std::optional<Node> scaled_matrix(const Node& node) {
  const auto is_matrix = [](const Node& n) { return n.kind == Kind::matrix; };
  const bool is_product = node.kind == Kind::multiply || node.kind == Kind::negate ||
                          (node.kind == Kind::divide && is_matrix(node.children[0]));
  if (!is_product || std::count_if(node.children.begin(), node.children.end(), is_matrix) != 1)
    return std::nullopt;
  const auto at = std::find_if(node.children.begin(), node.children.end(), is_matrix);
  Node matrix = *at;
  for (Node& cell : matrix.children) {
    Node scaled = node;
    scaled.children[std::size_t(at - node.children.begin())] = std::move(cell);
    cell = std::move(scaled);
  }
  return matrix;
}

/// The coordinates of a named point, A(1,2); none for anything else.
std::optional<Node> point_of(const Node& node) {
  if (node.kind == Kind::call && node.text == "C")
    return with(Kind::bracketed, node.children, "()");
  const bool is_named = node.kind == Kind::multiply && node.children.size() == 2 &&
                        node.children[0].kind == Kind::symbol &&
                        node.children[0].text.size() == 1 && node.children[0].text[0] <= 'Z';
  return is_named && node.children[1].kind == Kind::bracketed ? std::optional(node.children[1])
                                                              : std::nullopt;
}

/// Of two parts' verdicts, neither of them different, that of the whole: what the reference leaves
/// open counts less than what the answer does.
Verdict graver(Verdict a, Verdict b) {
  const auto weight = [](const Verdict& v) {
    return v.answer == Answer::equal ? 0 : v.open != Open::no ? 1 : 2;
  };
  return weight(b) > weight(a) ? b : a;
}

/// The first of `count` verdicts that is equal, its place in `at`; where there is none, undecided
/// if any is.
template <class VerdictOf>
Verdict any_equal(std::size_t count, std::size_t& at, VerdictOf verdict_of) {
  Verdict open{Answer::different, {}};
  for (at = 0; at < count; ++at) {
    Verdict verdict = verdict_of(at);
    if (verdict.answer == Answer::equal) return verdict;
    if (verdict.answer == Answer::undecided)
      open = open.answer == Answer::undecided ? graver(std::move(open), std::move(verdict))
                                              : std::move(verdict);
  }
  return open;
}

bool says_nothing(const Node& node) {
  if (node.kind != Kind::words) return node.kind == Kind::set && node.children.empty();
  std::string_view words = node.text;
  for (const std::string_view opening : {"there are ", "there is ", "the ", "an "})
    if (words.starts_with(opening)) words.remove_prefix(opening.size());
  for (const std::string_view ending : {" exists", " exist"})
    if (words.ends_with(ending)) words.remove_suffix(ending.size());
  constexpr std::string_view kNothing[] = {
      "none",         "no solution",      "no solutions",      "empty set",
      "null set",     "no real solution", "no real solutions", "no roots",
      "no real roots"};
  return std::find(std::begin(kNothing), std::end(kNothing), words) != std::end(kNothing);
}

}  // namespace

/// The items of a list, with both values of each plus-minus.
std::vector<Node> spread(const Node& node) {
  std::vector<Node> items;
  const auto take = [&](const Node& item) {
    const Node& value = value_of(item);
    if (!has_two_signs(value)) return items.push_back(item);
    for (Node& one : both_signs(value)) items.push_back(std::move(one));
  };
  if (node.kind == Kind::list || node.kind == Kind::set) {
    for (const Node& item : node.children) take(item);
  } else {
    take(node);
  }
  return items;
}

int infinity_of(const Node& node) {
  if (node.kind == Kind::infinity) return 1;
  return node.kind == Kind::negate && node.children[0].kind == Kind::infinity ? -1 : 0;
}

Verdict Comparison::verdict(const Node& reference, const Node& answer) {
  const Verdict verdict = compare(reference, answer);
  if (verdict.answer != Answer::equal) return verdict;
  const Verdict defined = values_.all_is_defined();
  return defined.answer == Answer::equal ? verdict : Verdict{Answer::undecided, defined.reason};
}

Verdict Comparison::has_value(const Node& node) {
  Verdict all{Answer::equal, "it has a value"};
  if (node.kind == Kind::words || infinity_of(node) != 0) return all;
  if (const auto point = point_of(node)) return has_value(*point);
  if (node.kind == Kind::ratio) {
    for (const Node& part : node.children)
      if (part.kind >= Kind::ratio || infinity_of(part) != 0)
        return {Answer::different, "a ratio of what are no numbers"};
    if (node.text.empty() && node.children.size() == 2)
      return has_value(with(Kind::divide, node.children));
  }
  if (node.kind < Kind::ratio) {
    for (const Node& one : has_two_signs(node) ? both_signs(node) : std::vector<Node>{node})
      if (Verdict value = values_.computed(quantity(one).value); value.answer != Answer::equal)
        return value;
    return values_.all_is_defined();
  }
  for (const Node& child : node.children)
    if (Verdict part = has_value(child); part.answer != Answer::equal) return part;
  return all;
}

Verdict Comparison::compare(const Node& reference, const Node& answer) {
  if (says_nothing(reference) && says_nothing(answer))
    return {Answer::equal, "both say that there is nothing"};
  if (auto verdict = clocks(reference, answer)) return *verdict;
  if (reference.kind == Kind::words || answer.kind == Kind::words) return words(reference, answer);
  if (auto verdict = families(reference, answer)) return *verdict;
  if (reference.kind == Kind::bracketed)
    if (const auto point = point_of(answer)) return compare(reference, *point);
  if (reference.kind == Kind::multiply)
    if (const auto point = point_of(reference)) return compare(*point, answer);
  if (is_chain(answer))
    if (Verdict holds = chain_holds(answer); holds.answer != Answer::equal) return holds;
  const bool both_relations = reference.kind == Kind::relation && answer.kind == Kind::relation;
  if (both_relations && !is_region(reference) && !is_region(answer) && !has_several(reference) &&
      !has_several(answer))
    return relations(reference, answer);
  if (!is_region(reference) && !is_region(answer))
    if (auto verdict = equation_and_value(reference, answer)) return *verdict;
  const Node &a = has_several(reference) ? reference : value_of(reference),
             &b = has_several(answer) ? answer : value_of(answer);
  const auto is_scalar = [](const Node& n) { return n.kind < Kind::ratio; };
  if (a.kind == Kind::list && b.kind == Kind::join &&
      std::all_of(a.children.begin(), a.children.end(), is_scalar))
    return compare(with(Kind::set, a.children), b);
  if (is_region(a) || is_region(b)) {
    std::string name_a, name_b;
    const auto left = region(a, name_a), right = region(b, name_b);
    if (left && right && !name_a.empty() && !name_b.empty() && name_a != name_b)
      return {Answer::different, "another variable"};
    if (left && right) return regions(*left, *right);
    const bool is_unsolved = is_region(a) && !left && a.kind == Kind::relation;
    if (both_relations && reference.text.size() == answer.text.size()) {
      Verdict verdict = relations(reference, answer);
      if (verdict.answer != Answer::different || !is_unsolved || !right) return verdict;
    }
    if (is_unsolved && names_of(a).size() == 1 && (right || is_region(b)))
      return left_open(Open::inequality);
    return {Answer::different, is_region(b) && !right && b.kind == Kind::relation
                                   ? "an inequality that is not solved"
                                   : kKinds};
  }
  if (const auto scaled_a = scaled_matrix(a), scaled_b = scaled_matrix(b); scaled_a || scaled_b)
    return compare(scaled_a.value_or(a), scaled_b.value_or(b));
  if (a.kind == Kind::matrix && b.kind == Kind::bracketed)
    if (const auto rows = matrix_of_rows(b)) return matrices(a, *rows);
  if (a.kind == Kind::matrix || b.kind == Kind::matrix) return matrices(a, b);
  if (a.kind == Kind::bracketed && b.kind == Kind::bracketed)
    return in_order(a.children, b.children);
  if (has_several(a) || has_several(b)) return lists(a, b);
  if (is_structure(a) || is_structure(b) || a.kind == Kind::relation || b.kind == Kind::relation)
    return {Answer::different, kKinds};
  return a.kind == Kind::ratio || b.kind == Kind::ratio ? ratios(a, b) : scalars(a, b);
}

/// Proportional parts; two parts are also their quotient. A reference that may be a time of day is
/// no other ratio for sure.
Verdict Comparison::ratios(const Node& a, const Node& b) {
  const auto is_clock = [](const Node& n) { return n.text == "clock"; };
  if (a.kind != b.kind) {
    const Node& ratio = a.kind == Kind::ratio ? a : b;
    if (ratio.children.size() != 2 || is_clock(ratio)) return {Answer::different, kKinds};
    const Verdict verdict = values_.compare(values_.form(a), values_.form(b));
    return verdict.answer == Answer::equal && &ratio == &a && !a.text.empty()
               ? left_open(Open::clock)
               : verdict;
  }
  if (is_clock(a) || is_clock(b)) return in_order(a.children, b.children);
  if (a.children.size() != b.children.size()) return {Answer::different, "a ratio of other parts"};
  const bool is_same = in_order(a.children, b.children).answer == Answer::equal;
  if (is_same) return {Answer::equal, "the same ratio"};
  const Form first_a = values_.form(a.children[0]), first_b = values_.form(b.children[0]);
  if (values_.is_not_zero(first_a).answer != Answer::equal ||
      values_.is_not_zero(first_b).answer != Answer::equal)
    return {Answer::different, "a ratio that begins with zero"};
  for (std::size_t n = 1; n < a.children.size(); ++n) {
    Algebra& algebra = values_.algebra();
    Verdict part = values_.compare(algebra.multiply(values_.form(a.children[n]), first_b),
                                   algebra.multiply(values_.form(b.children[n]), first_a));
    if (part.answer != Answer::equal) return part;
  }
  return a.text.empty() || b.text.empty() ? Verdict{Answer::equal, "the same ratio"}
                                          : left_open(Open::clock);
}

Verdict Comparison::words(const Node& a, const Node& b) {
  const auto are_words = [](const Node& n) {  // "a circle" reads as a value with a unit
    return n.kind == Kind::words || (n.kind == Kind::unit && n.children[0].kind == Kind::symbol &&
                                     n.children[0].text == "a");
  };
  if (!are_words(a) || !are_words(b)) return {Answer::different, "words and no words"};
  const auto plain = [](const Node& n) {
    for (const std::string_view article : {"the ", "an ", "a "})
      if (n.text.starts_with(article)) return n.text.substr(article.size());
    return n.text == "dne" ? "does not exist" : n.text;
  };
  return plain(a) == plain(b) ? Verdict{Answer::equal, "the same words"}
                              : Verdict{Answer::different, "other words"};
}

/// A list that is written with commas alone may stand for a tuple, and so do values with names of
/// their own; otherwise order does not count. A value that is said several times is that value;
/// several values, of which one may be right, are not.
Verdict Comparison::lists(const Node& a, const Node& b) {
  const bool is_choice = a.text == "or" || b.text == "or";
  const auto named_a = is_choice ? std::nullopt : named_values(a),
             named_b = is_choice ? std::nullopt : named_values(b);
  const bool is_tuple = !is_choice && ((a.kind == Kind::bracketed && b.kind == Kind::list) ||
                                       (b.kind == Kind::bracketed && a.kind == Kind::list));
  if (is_tuple || (named_a.has_value() != named_b.has_value() && a.kind == b.kind))
    return in_order(named_a ? *named_a : a.children, named_b ? *named_b : b.children);
  if (b.kind == Kind::list && !has_several(a)) return said_again(a, b.children);
  if (is_structure(a) && !has_several(a)) return {Answer::different, kKinds};
  if (is_structure(b) && !has_several(b)) return {Answer::different, kKinds};
  return unordered(spread(a), spread(b), a.kind != Kind::set && b.kind != Kind::set);
}

/// One value that an answer gives in several spellings: 1/2 or 0.5.
Verdict Comparison::said_again(const Node& value, const std::vector<Node>& items) {
  Verdict all{Answer::equal, "the same value, said again"};
  for (const Node& item : items) {
    Verdict one = compare(value, item);
    if (one.answer == Answer::different) return {Answer::different, "several values for one"};
    if (one.answer == Answer::undecided) all = graver(std::move(all), std::move(one));
  }
  return all;
}

Verdict Comparison::in_order(const std::vector<Node>& a, const std::vector<Node>& b) {
  if (a.size() != b.size())
    return {Answer::different, fmt::format("{} parts instead of {}", b.size(), a.size())};
  Verdict all{Answer::equal, "all parts are equal"};
  for (std::size_t n = 0; n < a.size(); ++n) {
    const Verdict part = compare(a[n], b[n]);
    if (part.answer == Answer::different)
      return {Answer::different, fmt::format("part {}: {}", n + 1, part.reason)};
    if (part.answer == Answer::undecided)
      all = graver(all,
                   {Answer::undecided, fmt::format("part {}: {}", n + 1, part.reason), part.open});
  }
  return all;
}

Verdict Comparison::unordered(const std::vector<Node>& a, const std::vector<Node>& b,
                              bool repetitions_count) {
  if (a.size() > kMostItems || b.size() > kMostItems)
    exhausted("more items than are compared without order");
  if (repetitions_count && a.size() != b.size())
    return {Answer::different, fmt::format("{} items instead of {}", b.size(), a.size())};
  std::vector<bool> is_matched(b.size(), false);
  Verdict all{Answer::equal, "the same items"};
  for (std::size_t n = 0; n < a.size(); ++n) {
    std::size_t at = 0;
    Verdict found = any_equal(b.size(), at, [&](std::size_t m) {
      return repetitions_count && is_matched[m] ? Verdict{Answer::different} : compare(a[n], b[m]);
    });
    if (found.answer == Answer::different)
      return {Answer::different, fmt::format("item {} of the reference is missing", n + 1)};
    if (found.answer == Answer::equal) is_matched[at] = true;
    else all = graver(std::move(all), std::move(found));
  }
  for (std::size_t m = 0; m < b.size() && !repetitions_count; ++m) {
    if (is_matched[m]) continue;
    std::size_t at = 0;
    Verdict found = any_equal(a.size(), at, [&](std::size_t n) { return compare(a[n], b[m]); });
    if (found.answer == Answer::different)
      return {Answer::different, fmt::format("item {} is none of the reference", m + 1)};
    if (found.answer == Answer::undecided) all = graver(std::move(all), std::move(found));
  }
  return all;
}

/// A column or a row may be written as a tuple.
Verdict Comparison::matrices(const Node& a, const Node& b) {
  const auto columns = [](const Node& m) {
    return m.kind == Kind::matrix ? std::size_t(m.value->get_num().get_ui()) : 0;
  };
  const auto is_line = [&](const Node& m) {
    return m.kind == Kind::bracketed || columns(m) == 1 || columns(m) == m.children.size();
  };
  const auto is_either = [](const Node& m) {
    return m.kind == Kind::matrix || m.kind == Kind::bracketed;
  };
  if (!is_either(a) || !is_either(b)) {
    const bool single = (a.kind == Kind::matrix ? a : b).children.size() == 1 &&
                        !is_structure(a.kind == Kind::matrix ? b : a);
    if (!single) return {Answer::different, "a matrix and none"};
    return a.kind == Kind::matrix ? compare(a.children[0], b) : compare(a, b.children[0]);
  }
  if (columns(a) != columns(b) && !(columns(a) * columns(b) == 0 && is_line(a) && is_line(b)))
    return {Answer::different, "a matrix of another shape"};
  return in_order(a.children, b.children);
}

/// Percents and degrees may be left out on one side; where both have them they count.
Verdict Comparison::scalars(const Node& a, const Node& b) {
  if (a.kind == Kind::number && b.kind == Kind::number) return compare_numbers(*a.value, *b.value);
  if (infinity_of(a) != 0 || infinity_of(b) != 0) {
    const bool equal = infinity_of(a) == infinity_of(b);
    return {equal ? Answer::equal : Answer::different,
            equal ? "the same infinity" : "an infinite and another value"};
  }
  if (mpz_class digits; a.kind == Kind::based && b.kind == Kind::number &&
                        digits.set_str(a.text, 10) == 0 && b.value == mpq_class(digits))
    return {Answer::equal, "the digits without their base, which the question states"};
  const auto is_marked = [](const Node& n) {
    return n.kind == Kind::percent || n.kind == Kind::degrees;
  };
  if (is_marked(a) && is_marked(b))
    return a.kind == b.kind ? scalars(a.children[0], b.children[0])
                            : values_.compare(values_.form(a), values_.form(b));
  Verdict verdict = quantities(a, b);
  const bool has_unit = a.kind == Kind::unit || b.kind == Kind::unit;  // no percents then
  if (verdict.answer != Answer::equal && is_marked(a) && !has_unit)
    verdict = quantities(a.children[0], b);
  if (verdict.answer != Answer::equal && is_marked(b) && !has_unit)
    verdict = quantities(a, b.children[0]);
  return verdict;
}

}  // namespace rollcall::reward::math
