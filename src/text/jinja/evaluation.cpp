// Evaluates each kind of expression. The place is set before an operation that may fail.
#include "text/jinja/evaluation.hpp"

#include "text/jinja/execution.hpp"
#include "text/jinja/values/access.hpp"
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

namespace rollcall::text::jinja {

Value Evaluator::evaluate(const Expression& e) {
  const Deeper deeper(r_.context.budget);
  r_.context.budget.step();
  switch (e.kind) {
    case ExpressionKind::constant: return e.constant;
    case ExpressionKind::name:
    case ExpressionKind::namespace_ref: return name(e);
    case ExpressionKind::tuple: return tuple(r_.context.budget, evaluate_all(e.parts));
    case ExpressionKind::list: return list(r_.context.budget, evaluate_all(e.parts));
    case ExpressionKind::dict: return dictionary(e);
    case ExpressionKind::conditional: return conditional(e);
    case ExpressionKind::both:
    case ExpressionKind::either: {
      Value first = evaluate(*e.parts[0]);
      return is_true(r_.context.budget, first) == (e.kind == ExpressionKind::either)
                 ? first
                 : evaluate(*e.parts[1]);
    }
    case ExpressionKind::negation:
      return boolean(!is_true(r_.context.budget, evaluate(*e.parts[0])));
    case ExpressionKind::compare: return compare_chain(e);
    case ExpressionKind::binary: {
      const Value a = evaluate(*e.parts[0]), b = evaluate(*e.parts[1]);
      r_.at = e.place;
      return binary(r_.context, e.operators[0], a, b);
    }
    case ExpressionKind::concat: return concat(e);
    case ExpressionKind::negative:
    case ExpressionKind::positive: {
      const Value a = evaluate(*e.parts[0]);
      r_.at = e.place;
      return e.kind == ExpressionKind::negative ? negative(a) : positive(a);
    }
    case ExpressionKind::attribute: {
      const Value object = evaluate(*e.parts[0]);
      r_.at = e.place;
      return attribute(r_.context, object, e.text);
    }
    case ExpressionKind::item: {
      const Value object = evaluate(*e.parts[0]), key = evaluate(*e.parts[1]);
      r_.at = e.place;
      return item(r_.context, object, key);
    }
    case ExpressionKind::slice: return sliced(e);
    case ExpressionKind::call: return call_expression(e, nullptr);
    case ExpressionKind::filter: return filtered_value(e, nullptr);
    case ExpressionKind::test: return tested(e);
  }
  return none();
}

std::vector<Value> Evaluator::evaluate_all(const std::vector<ExpressionPtr>& parts) {
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const auto& part : parts) values.push_back(evaluate(*part));
  return values;
}

Value Evaluator::name(const Expression& e) {
  if (const Value* value = r_.scopes.find(e.symbol)) return *value;
  const std::string& text = r_.parsed.symbols[std::size_t(e.symbol)];
  if (const Row* row = find_row(functions(), text)) return function(r_.context, *row, none());
  return undefined(r_.context.budget, fmt::format("'{}' is undefined", text));
}

Value Evaluator::conditional(const Expression& e) {
  if (is_true(r_.context.budget, evaluate(*e.parts[0]))) return evaluate(*e.parts[1]);
  if (e.parts[2]) return evaluate(*e.parts[2]);
  return undefined(
      r_.context.budget,
      fmt::format(
          "the inline if-expression on line {} evaluated to false and no else section was defined.",
          e.place.line));
}

Value Evaluator::compare_chain(const Expression& e) {
  Value left = evaluate(*e.parts[0]);
  for (std::size_t i = 0; i < e.operators.size(); ++i) {
    Value right = evaluate(*e.parts[i + 1]);
    r_.at = e.place;
    if (!compare(r_.context, e.operators[i], left, right)) return boolean(false);
    left = std::move(right);
  }
  return boolean(true);
}

Value Evaluator::concat(const Expression& e) {
  Builder out(r_.context.budget);
  for (const auto& part : e.parts) {
    const Value value = evaluate(*part);
    r_.at = e.place;
    out += str(r_.context, value);
  }
  return string(r_.context.budget, out.take());
}

Value Evaluator::dictionary(const Expression& e) {
  auto made = std::make_shared<Dict>(&r_.context.budget);
  for (std::size_t i = 0; i < e.parts.size(); i += 2) {
    Value key = evaluate(*e.parts[i]), value = evaluate(*e.parts[i + 1]);
    r_.at = e.place;
    made->set(std::move(key), std::move(value));
  }
  return dict(std::move(made));
}

Value Evaluator::sliced(const Expression& e) {
  const Value object = evaluate(*e.parts[0]);
  const auto part = [&](std::size_t i) { return e.parts[i] ? evaluate(*e.parts[i]) : none(); };
  const Value start = part(1), stop = part(2), step = part(3);
  r_.at = e.place;
  return slice(r_.context, object, start, stop, step);
}

Arguments Evaluator::arguments(const ArgumentList& given) {
  Arguments out{evaluate_all(given.positional), {}};
  for (const auto& [name, expression] : given.named)
    out.named.emplace_back(name, evaluate(*expression));
  if (given.more) {
    for (auto& value : collect(r_.context, evaluate(*given.more)))
      out.positional.push_back(std::move(value));
  }
  if (!given.more_named) return out;
  const Value more = evaluate(*given.more_named);
  if (!more.is(Kind::dict)) fail("argument after ** must be a mapping");
  for (const auto& [key, value] : more.dict().items) {
    if (!key.is(Kind::string)) fail("keywords must be strings");
    r_.context.budget.pass_names(out.named.size());
    for (const auto& [name, other] : out.named) {
      if (name == key.text())
        fail(fmt::format("got multiple values for keyword argument '{}'", name));
    }
    out.named.emplace_back(key.text(), value);
  }
  return out;
}

Value Evaluator::call_expression(const Expression& e, const Value* caller) {
  const Value callee = evaluate(*e.parts[0]);
  Arguments given = arguments(*e.arguments);
  if (caller) {
    for (const auto& [name, value] : given.named) {
      if (name == "caller") fail("got multiple values for keyword argument 'caller'");
    }
    given.named.emplace_back("caller", *caller);
  }
  r_.at = e.place;
  return call(callee, std::move(given));
}

Value Evaluator::call(const Value& callee, Arguments given) {
  switch (callee.kind) {
    case Kind::function:
      return apply(callee.as<Function>().row, r_.context, callee.as<Function>().self,
                   std::move(given));
    case Kind::macro: return Executor(r_).call_macro(callee.as<Macro>(), std::move(given));
    case Kind::loop: return Executor(r_).recurse(callee, std::move(given));
    case Kind::joiner: {
      if (!given.positional.empty() || !given.named.empty())
        fail("a joiner is called without arguments");
      auto& joiner = callee.as<Joiner>();
      return std::exchange(joiner.used, true) ? joiner.separator : string(r_.context.budget, "");
    }
    case Kind::undefined: fail(callee.as<Undefined>().message);
    default: fail(fmt::format("'{}' object is not callable", type_name(callee)));
  }
}

Value Evaluator::filtered_value(const Expression& e, const Value* body) {
  const Value value = e.parts[0] ? (body && e.parts[0]->kind == ExpressionKind::filter
                                        ? filtered_value(*e.parts[0], body)
                                        : evaluate(*e.parts[0]))
                                 : *body;
  Arguments given = arguments(*e.arguments);
  r_.at = e.place;
  if (!e.row) {
    if (is_known_to_jinja(e.text)) fail_unsupported(fmt::format("the filter '{}'", e.text));
    fail(fmt::format("No filter named '{}'.", e.text));
  }
  return apply(*e.row, r_.context, value, std::move(given));
}

Value Evaluator::tested(const Expression& e) {
  const Value value = evaluate(*e.parts[0]);
  Arguments given = arguments(*e.arguments);
  r_.at = e.place;
  if (!e.row) fail(fmt::format("No test named '{}'.", e.text));
  return apply(*e.row, r_.context, value, std::move(given));
}

}  // namespace rollcall::text::jinja
