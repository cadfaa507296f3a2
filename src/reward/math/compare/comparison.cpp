// Answers both questions of Comparison by comparing expressions.
#include "reward/math/compare/comparison.hpp"

#include "reward/math/compare/compare.hpp"
#include "reward/math/compare/quantities.hpp"
#include "reward/math/expression/signs.hpp"
#include "reward/math/expression/structures.hpp"
#include "reward/math/expression/tree.hpp"

#include <vector>

namespace rollcall::reward::math {

Verdict Comparison::verdict(const Node& reference, const Node& answer) {
  const Verdict verdict = compare(values_, reference, answer);
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
      if (Verdict value = values_.computed(quantity_of(values_, one).value);
          value.answer != Answer::equal)
        return value;
    return values_.all_is_defined();
  }
  for (const Node& child : node.children)
    if (Verdict part = has_value(child); part.answer != Answer::equal) return part;
  return all;
}

}  // namespace rollcall::reward::math
