// Executes each kind of statement. Faults are given the place of the statement or expression in
// which they occur.
#include "text/jinja/execution.hpp"

#include "text/jinja/evaluation.hpp"
#include "text/jinja/values/access.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

/// The keyword argument with that name, which is removed from the others.
std::optional<Value> take_named(Arguments& arguments, const std::string& name) {
  const auto at = std::find_if(arguments.named.begin(), arguments.named.end(),
                               [&](const auto& a) { return a.first == name; });
  if (at == arguments.named.end()) return std::nullopt;
  Value value = std::move(at->second);
  arguments.named.erase(at);
  return value;
}

}  // namespace

std::string render(Rendering& rendering) {
  try {
    rendering.scopes.hide(*rendering.scopes.current(), rendering.parsed.hidden);
    Executor(rendering).execute(rendering.parsed.body);
  } catch (Fault& fault) {
    if (fault.place.line == 0) fault.place = rendering.at;
    throw;
  }
  return rendering.output.take();
}

Value Executor::evaluate(const Expression& e) { return Evaluator(r_).evaluate(e); }

Executor::Flow Executor::execute(const Block& block) {
  const Deeper deeper(r_.context.budget);
  for (const auto& s : block) {
    if (const Flow flow = execute(s); flow != Flow::on) return flow;
  }
  return Flow::on;
}

Executor::Flow Executor::execute(const Statement& s) {
  r_.context.budget.step();
  r_.at = s.place;
  switch (s.kind) {
    case StatementKind::text: r_.output.write(s.text); break;
    case StatementKind::print: {
      const Value value = evaluate(*s.expression);
      r_.at = s.place;
      r_.output.write(value.is(Kind::string) ? value.text() : str(r_.context, value));
      break;
    }
    case StatementKind::loop: return loop(s, evaluate(*s.expression), 0);
    case StatementKind::condition: return condition(s);
    case StatementKind::assign: assign(*s.target, evaluate(*s.expression)); break;
    case StatementKind::assign_body: return assign_body(s);
    case StatementKind::macro: r_.scopes.set(s.symbol, macro(s)); break;
    case StatementKind::call: call_block(s); break;
    case StatementKind::filter: return filter_block(s);
    case StatementKind::with: return with(s);
    case StatementKind::scope: {
      const Frame frame(r_, s.hidden);
      return execute(s.body);
    }
    case StatementKind::leave: return Flow::leave;
    case StatementKind::next: return Flow::next;
  }
  return Flow::on;
}

Executor::Flow Executor::condition(const Statement& s) {
  for (const auto& branch : s.branches) {
    if (!branch.test || is_true(r_.context.budget, evaluate(*branch.test)))
      return execute(branch.body);
  }
  return Flow::on;
}

Executor::Flow Executor::assign_body(const Statement& s) {
  Value value;
  {
    const Capture capture(r_);
    const Frame frame(r_, s.hidden);
    if (const Flow flow = execute(s.body); flow != Flow::on) return flow;
    value = capture.text();
  }
  if (s.expression) value = Evaluator(r_).filtered_value(*s.expression, &value);
  assign(*s.target, value);
  return Flow::on;
}

Executor::Flow Executor::filter_block(const Statement& s) {
  Value value;
  {
    const Capture capture(r_);
    const Frame frame(r_, s.hidden);
    if (const Flow flow = execute(s.body); flow != Flow::on) return flow;
    value = capture.text();
  }
  const Value result = Evaluator(r_).filtered_value(*s.expression, &value);
  r_.output.write(str(r_.context, result));
  return Flow::on;
}

Executor::Flow Executor::with(const Statement& s) {
  std::vector<Value> values;
  for (const auto& [target, expression] : s.with) values.push_back(evaluate(*expression));
  const Frame frame(r_, s.hidden);
  for (std::size_t i = 0; i < values.size(); ++i) assign(*s.with[i].first, values[i]);
  return execute(s.body);
}

void Executor::assign(const Expression& target, const Value& value) {
  if (target.kind == ExpressionKind::name) return r_.scopes.set(target.symbol, value);
  if (target.kind == ExpressionKind::namespace_ref) return assign_namespace(target, value);
  r_.at = target.place;
  const auto items = collect(r_.context, value);
  if (items.size() != target.parts.size()) {
    fail(items.size() > target.parts.size()
             ? fmt::format("too many values to unpack (expected {})", target.parts.size())
             : fmt::format("not enough values to unpack (expected {}, got {})", target.parts.size(),
                           items.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) assign(*target.parts[i], items[i]);
}

void Executor::assign_namespace(const Expression& target, const Value& value) {
  const Value object = Evaluator(r_).name(target);
  r_.at = target.place;
  if (!object.is(Kind::name_space)) fail("cannot assign attribute on non-namespace object");
  if (target.text.starts_with('_'))
    fail(fmt::format(
        "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{}'.",
        target.text));
  object.as<Namespace>().attributes.set(string(r_.context.budget, target.text), value);
}

std::shared_ptr<Iterator> Executor::filtered(const Statement& s, std::shared_ptr<Iterator> source) {
  const int depth = source->depth;
  return std::make_shared<Iterator>(
      &r_.context.budget, depth + 1,
      [&r = r_, &s, source, where = r_.scopes.current()](Context& context, Value& item) {
        while (source->advance(context, item)) {
          const Frame frame(r, where, {});
          Executor(r).assign(*s.target, item);
          if (is_true(context.budget, Evaluator(r).evaluate(*s.test))) return true;
        }
        return false;
      });
}

Executor::Flow Executor::loop(const Statement& s, const Value& iterable, int depth0) {
  r_.at = s.expression->place;
  auto source = iterate(r_.context, iterable);
  if (s.test) source = filtered(s, std::move(source));
  Value variable;
  variable.kind = Kind::loop;
  const auto state = std::make_shared<Loop>(&r_.context.budget, s.test ? none() : iterable,
                                            std::move(source), depth0);
  variable.object = state;
  if (s.recursive) state->recursive = &s;
  state->scope = r_.scopes.current();
  // As in Jinja, iterations cut short by break or continue do not count: if there are no others,
  // the else is rendered.
  bool completed = false;
  while (loop_advance(r_.context, *state)) {
    const Frame frame(r_, s.hidden);
    assign(*s.target, state->current);
    r_.scopes.set(kLoopSymbol, variable);
    const Flow flow = execute(s.body);
    completed = completed || flow == Flow::on;
    if (flow == Flow::leave) break;
  }
  state->source = nullptr;
  state->recursive = nullptr;
  state->after.reset();
  state->before = state->current = none();
  if (completed) return Flow::on;
  const Frame frame(r_, s.hidden_otherwise);
  return execute(s.otherwise);
}

Value Executor::recurse(const Value& value, Arguments arguments) {
  const auto& state = value.as<Loop>();
  if (!state.recursive) fail("The loop must have the 'recursive' marker to be called recursively.");
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    fail("a recursive loop is called with one argument");
  const Statement& s = *state.recursive;
  const int depth0 = state.depth0 + 1;
  const Capture capture(r_);
  Scope* const before = r_.scopes.enter(state.scope);
  try {
    loop(s, arguments.positional.front(), depth0);
  } catch (...) {
    r_.scopes.enter(before);
    throw;
  }
  r_.scopes.enter(before);
  return capture.text();
}

Value Executor::macro(const Statement& statement) {
  r_.scopes.keep();
  Value value;
  value.kind = Kind::macro;
  value.object = std::make_shared<Macro>(&r_.context.budget, statement, r_.scopes.current());
  return value;
}

void Executor::call_block(const Statement& s) {
  const Value caller = macro(s);
  const Value result = Evaluator(r_).call_expression(*s.expression, &caller);
  r_.output.write(str(r_.context, result));
}

Value Executor::call_macro(const Macro& macro, Arguments arguments) {
  const Deeper deeper(r_.context.budget);
  const Capture capture(r_);
  const Frame frame(r_, macro.scope, macro.statement.hidden);
  bind(macro, arguments);
  execute(macro.statement.body);
  return capture.text();
}

Value Executor::parameter(const Macro& macro, std::size_t i, Arguments& arguments) {
  const Signature& s = macro.statement.signature;
  if (i < arguments.positional.size()) return arguments.positional[i];
  r_.context.budget.pass_names(2 * arguments.named.size());
  if (auto value = take_named(arguments, s.names[i])) return *std::move(value);
  const std::size_t first_default = s.names.size() - s.defaults.size();
  if (i >= first_default) return evaluate(*s.defaults[i - first_default]);
  return undefined(r_.context.budget, fmt::format("parameter '{}' was not provided", s.names[i]));
}

void Executor::bind(const Macro& macro, Arguments& arguments) {
  const Signature& s = macro.statement.signature;
  const bool names_caller = std::find(s.names.begin(), s.names.end(), "caller") != s.names.end();
  for (std::size_t i = 0; i < s.names.size(); ++i) {
    const Value value = parameter(macro, i, arguments);
    r_.scopes.set(s.symbols[i], value);
  }
  if (s.uses_caller && !names_caller) {
    const Value caller = take_named(arguments, "caller").value_or(none());
    r_.scopes.set(kCallerSymbol, caller.is(Kind::none)
                                     ? undefined(r_.context.budget, "No caller defined")
                                     : caller);
  }
  if (s.uses_kwargs) {
    auto rest = std::make_shared<Dict>(&r_.context.budget);
    for (auto& [key, value] : arguments.named) rest->set(string(r_.context.budget, key), value);
    r_.scopes.set(kKwargsSymbol, dict(std::move(rest)));
  } else if (!arguments.named.empty()) {
    fail(fmt::format("macro '{}' takes no keyword argument '{}'", macro.name(),
                     arguments.named.front().first));
  }
  const std::size_t taken = std::min(arguments.positional.size(), s.names.size());
  std::vector<Value> rest(arguments.positional.begin() + std::ptrdiff_t(taken),
                          arguments.positional.end());
  if (s.uses_varargs) r_.scopes.set(kVarargsSymbol, tuple(r_.context.budget, std::move(rest)));
  else if (!rest.empty())
    fail(
        fmt::format("macro '{}' takes not more than {} argument(s)", macro.name(), s.names.size()));
}

}  // namespace rollcall::text::jinja
