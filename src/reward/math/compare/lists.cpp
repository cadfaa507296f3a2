// Compares lists item by item, in order or as sets.
#include "reward/math/compare/lists.hpp"

#include "reward/math/compare/compare.hpp"
#include "reward/math/compare/relations.hpp"
#include "reward/math/expression/structures.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace rollcall::reward::math {
namespace {

/// The values of x = 1, y = 2 in the order of their names; nothing if an item is something else or
/// a name is repeated.
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

/// The verdict on a whole with two parts, neither of which is "different". An undecided part caused
/// by the answer outweighs one that the reference leaves open.
Verdict graver(Verdict a, Verdict b) {
  const auto weight = [](const Verdict& v) {
    return v.answer == Answer::equal ? 0 : v.open != Open::no ? 1 : 2;
  };
  return weight(b) > weight(a) ? b : a;
}

/// The first of `count` verdicts that is equal, with its index in `at`. If there is none, undecided
/// if any of them is, else different.
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

/// Compares one value with an answer that gives it in several spellings: 1/2 or 0.5.
Verdict compare_with_repetitions(Values& values, const Node& value,
                                 const std::vector<Node>& items) {
  Verdict all{Answer::equal, "the same value, said again"};
  for (const Node& item : items) {
    Verdict one = compare(values, value, item);
    if (one.answer == Answer::different) return {Answer::different, "several values for one"};
    if (one.answer == Answer::undecided) all = graver(std::move(all), std::move(one));
  }
  return all;
}

Verdict compare_unordered(Values& values, const std::vector<Node>& a, const std::vector<Node>& b,
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
      return repetitions_count && is_matched[m] ? Verdict{Answer::different}
                                                : compare(values, a[n], b[m]);
    });
    if (found.answer == Answer::different)
      return {Answer::different, fmt::format("item {} of the reference is missing", n + 1)};
    if (found.answer == Answer::equal) is_matched[at] = true;
    else all = graver(std::move(all), std::move(found));
  }
  for (std::size_t m = 0; m < b.size() && !repetitions_count; ++m) {
    if (is_matched[m]) continue;
    std::size_t at = 0;
    Verdict found =
        any_equal(a.size(), at, [&](std::size_t n) { return compare(values, a[n], b[m]); });
    if (found.answer == Answer::different)
      return {Answer::different, fmt::format("item {} is none of the reference", m + 1)};
    if (found.answer == Answer::undecided) all = graver(std::move(all), std::move(found));
  }
  return all;
}

}  // namespace

Verdict compare_lists(Values& values, const Node& a, const Node& b) {
  const bool is_choice = a.text == "or" || b.text == "or";
  const auto named_a = is_choice ? std::nullopt : named_values(a),
             named_b = is_choice ? std::nullopt : named_values(b);
  const bool is_tuple = !is_choice && ((a.kind == Kind::bracketed && b.kind == Kind::list) ||
                                       (b.kind == Kind::bracketed && a.kind == Kind::list));
  if (is_tuple || (named_a.has_value() != named_b.has_value() && a.kind == b.kind))
    return compare_in_order(values, named_a ? *named_a : a.children,
                            named_b ? *named_b : b.children);
  if (b.kind == Kind::list && !has_several(a))
    return compare_with_repetitions(values, a, b.children);
  if (is_structure(a) && !has_several(a)) return {Answer::different, kOtherKind};
  if (is_structure(b) && !has_several(b)) return {Answer::different, kOtherKind};
  return compare_unordered(values, spread(a), spread(b),
                           a.kind != Kind::set && b.kind != Kind::set);
}

Verdict compare_in_order(Values& values, const std::vector<Node>& a, const std::vector<Node>& b) {
  if (a.size() != b.size())
    return {Answer::different, fmt::format("{} parts instead of {}", b.size(), a.size())};
  Verdict all{Answer::equal, "all parts are equal"};
  for (std::size_t n = 0; n < a.size(); ++n) {
    const Verdict part = compare(values, a[n], b[n]);
    if (part.answer == Answer::different)
      return {Answer::different, fmt::format("part {}: {}", n + 1, part.reason)};
    if (part.answer == Answer::undecided)
      all = graver(all,
                   {Answer::undecided, fmt::format("part {}: {}", n + 1, part.reason), part.open});
  }
  return all;
}

}  // namespace rollcall::reward::math
