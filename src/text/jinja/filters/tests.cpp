// The table of tests, which are the names after `is`.
#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"
#include "text/jinja/values/split.hpp"

#include <fmt/format.h>

namespace rollcall::text::jinja {
namespace {

template <Kind... kKinds>
Value is_kind(Call& call) {
  return boolean((call.self.is(kKinds) || ...));
}

Value is_defined(Call& call) { return boolean(!call.self.is(Kind::undefined)); }
Value is_number(Call& call) { return boolean(call.self.is_number()); }
template <bool kWanted>
Value is_truth(Call& call) {
  return boolean(call.self.is(Kind::boolean) && call.self.boolean == kWanted);
}

Value is_sequence(Call& call) {
  return boolean(has_length(call.self) && !call.self.is(Kind::view));
}
Value iterable(Call& call) { return boolean(is_iterable(call.self)); }

Value is_callable(Call& call) {
  switch (call.self.kind) {
    case Kind::function:
    case Kind::macro:
    case Kind::loop:
    case Kind::joiner:
    case Kind::undefined: return boolean(true);
    default: return boolean(false);
  }
}

template <int kWanted>
Value remainder_is(Call& call) {
  return boolean(equal(call.context, binary(call.context, Operator::modulo, call.self, integer(2)),
                       integer(kWanted)));
}
Value divisible(Call& call) {
  return boolean(
      equal(call.context, binary(call.context, Operator::modulo, call.self, call[0]), integer(0)));
}

template <int kWanted, int kOthers>
Value cased(Call& call) {
  const std::string text = str(call.context, call.self);
  call.budget().look(std::int64_t(text.size()));
  return boolean(all_cased(text, kWanted, kOthers));
}

template <Operator kOp>
Value compared(Call& call) {
  return boolean(compare(call.context, kOp, call.self, call[0]));
}

/// Python's `is`, for objects and the constants none, true and false. Whether equal numbers or
/// strings are the same object depends on CPython.
Value same(Call& call) {
  const Value &a = call.self, &b = call[0];
  if (a.kind != b.kind) return boolean(false);
  if (a.is(Kind::none)) return boolean(true);
  if (a.is(Kind::boolean)) return boolean(a.boolean == b.boolean);
  if (a.object && a.object == b.object) return boolean(true);
  const bool open = a.is_number() || a.is(Kind::string) || (a.is(Kind::tuple) && a.items().empty());
  if (open && equal(call.context, a, b))
    fail_unsupported("sameas of equal numbers or strings (use eq)");
  return boolean(false);
}

Value is_safe(Call& call) { return boolean(call.self.safe); }

template <std::span<const Row> (*kRows)()>
Value is_row(Call& call) {
  if (!call.self.is(Kind::string)) hash_key(call.self);  // throws for a value that cannot be a key
  return boolean(call.self.is(Kind::string) &&
                 (find_row(kRows(), call.self.text()) || is_known_to_jinja(call.self.text())));
}

constexpr Row kTests[] = {
    {"!=", "/ other!", compared<Operator::not_equal>},
    {"<", "/ other!", compared<Operator::less>},
    {"<=", "/ other!", compared<Operator::less_equal>},
    {"==", "/ other!", compared<Operator::equal>},
    {">", "/ other!", compared<Operator::greater>},
    {">=", "/ other!", compared<Operator::greater_equal>},
    {"boolean", "", is_kind<Kind::boolean>},
    {"callable", "", is_callable},
    {"defined", "", is_defined},
    {"divisibleby", "num!", divisible},
    {"eq", "/ other!", compared<Operator::equal>},
    {"equalto", "/ other!", compared<Operator::equal>},
    {"escaped", "", is_safe},
    {"even", "", remainder_is<0>},
    {"false", "", is_truth<false>},
    {"filter", "", is_row<filters>},
    {"float", "", is_kind<Kind::real>},
    {"ge", "/ other!", compared<Operator::greater_equal>},
    {"greaterthan", "/ other!", compared<Operator::greater>},
    {"gt", "/ other!", compared<Operator::greater>},
    {"in", "seq!", compared<Operator::in>},
    {"integer", "", is_kind<Kind::integer>},
    {"iterable", "", iterable},
    {"le", "/ other!", compared<Operator::less_equal>},
    {"lessthan", "/ other!", compared<Operator::less>},
    {"lower", "", cased<kLowercase, kUppercase | kTitlecase>},
    {"lt", "/ other!", compared<Operator::less>},
    {"mapping", "", is_kind<Kind::dict>},
    {"ne", "/ other!", compared<Operator::not_equal>},
    {"none", "", is_kind<Kind::none>},
    {"number", "", is_number},
    {"odd", "", remainder_is<1>},
    {"sameas", "other!", same},
    {"sequence", "", is_sequence},
    {"string", "", is_kind<Kind::string>},
    {"test", "", is_row<tests>},
    {"true", "", is_truth<true>},
    {"undefined", "", is_kind<Kind::undefined>},
    {"upper", "", cased<kUppercase, kLowercase | kTitlecase>},
};

}  // namespace

std::span<const Row> tests() { return kTests; }

}  // namespace rollcall::text::jinja
