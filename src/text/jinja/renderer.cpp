// Statements executed; macros called.
#include "text/jinja/renderer.hpp"

#include "text/jinja/frame.hpp"
#include "text/jinja/values/access.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

void set_variable(Budget& budget, Scope& scope, int symbol, Value value) {
  budget.pass_names(scope.variables.size());
  for (auto& [other, old] : scope.variables) {
    if (other == symbol) {
      old = std::move(value);
      return;
    }
  }
  scope.variables.emplace_back(symbol, std::move(value));
}

std::optional<Value> take_named(Arguments& arguments, const std::string& name) {
  const auto at = std::find_if(arguments.named.begin(), arguments.named.end(),
                               [&](const auto& a) { return a.first == name; });
  if (at == arguments.named.end()) return std::nullopt;
  Value value = std::move(at->second);
  arguments.named.erase(at);
  return value;
}

}  // namespace

Renderer::Renderer(const Template& parsed, const Budget& budget)
    : template_(parsed), context_{budget, {}}, root_(std::make_shared<Scope>()) {
  scope_ = root_.get();
}

/// Objects that may hold themselves are emptied while all of them live, so that none frees a long
/// chain of others.
Renderer::~Renderer() {
  root_->variables.clear();
  for (const auto& scope : kept_) scope->variables.clear();
  for (const auto& value : context_.changing) {
    if (value.is(Kind::name_space)) value.as<Namespace>().attributes.items.clear();
    if (value.is(Kind::loop)) value.as<Loop>().last_changed = none();
  }
}

bool Renderer::mentions(std::string_view name) const {
  return std::find(template_.symbols.begin(), template_.symbols.end(), name) !=
         template_.symbols.end();
}

void Renderer::set(std::string_view name, const Value& value) {
  const auto at = std::find(template_.symbols.begin(), template_.symbols.end(), name);
  if (at != template_.symbols.end())
    set_variable(context_.budget, *root_, int(at - template_.symbols.begin()), value);
}

void Renderer::hide(Scope& scope, const std::vector<int>& symbols) {
  context_.budget.step(std::int64_t(symbols.size()));
  for (const int s : symbols)
    set_variable(context_.budget, scope, s,
                 undefined(context_.budget,
                           fmt::format("'{}' is undefined", template_.symbols[std::size_t(s)])));
}

std::string Renderer::run() {
  try {
    hide(*root_, template_.hidden);
    execute(template_.body);
  } catch (Fault& fault) {
    if (fault.place.line == 0) fault.place = at_;
    throw;
  }
  return std::move(output_);
}

void Renderer::write(std::string_view text) {
  context_.budget.work(std::int64_t(text.size()));
  context_.budget.take(std::int64_t(text.size()));
  *out_ += text;
}

Renderer::Flow Renderer::execute(const Block& block) {
  const Deeper deeper(context_.budget);
  for (const auto& s : block) {
    if (const Flow flow = execute(s); flow != Flow::on) return flow;
  }
  return Flow::on;
}

Renderer::Flow Renderer::execute(const Statement& s) {
  context_.budget.step();
  at_ = s.place;
  switch (s.kind) {
    case StatementKind::text: write(s.text); break;
    case StatementKind::print: {
      const Value value = evaluate(*s.expression);
      at_ = s.place;
      write(value.is(Kind::string) ? value.text() : str(context_, value));
      break;
    }
    case StatementKind::loop: return loop(s, evaluate(*s.expression), 0);
    case StatementKind::condition: return condition(s);
    case StatementKind::assign: assign(*s.target, evaluate(*s.expression)); break;
    case StatementKind::assign_body: return assign_body(s);
    case StatementKind::macro: set_variable(context_.budget, *scope_, s.symbol, macro(s)); break;
    case StatementKind::call: call_block(s); break;
    case StatementKind::filter: return filter_block(s);
    case StatementKind::with: return with(s);
    case StatementKind::scope: {
      const Frame frame(*this, s.hidden);
      return execute(s.body);
    }
    case StatementKind::leave: return Flow::leave;
    case StatementKind::next: return Flow::next;
  }
  return Flow::on;
}

Renderer::Flow Renderer::condition(const Statement& s) {
  for (const auto& branch : s.branches) {
    if (!branch.test || is_true(context_.budget, evaluate(*branch.test)))
      return execute(branch.body);
  }
  return Flow::on;
}

Renderer::Flow Renderer::assign_body(const Statement& s) {
  Value value;
  {
    const Capture capture(*this);
    const Frame frame(*this, s.hidden);
    if (const Flow flow = execute(s.body); flow != Flow::on) return flow;
    value = capture.text();
  }
  if (s.expression) value = filtered_value(*s.expression, &value);
  assign(*s.target, value);
  return Flow::on;
}

Renderer::Flow Renderer::filter_block(const Statement& s) {
  Value value;
  {
    const Capture capture(*this);
    const Frame frame(*this, s.hidden);
    if (const Flow flow = execute(s.body); flow != Flow::on) return flow;
    value = capture.text();
  }
  const Value result = filtered_value(*s.expression, &value);
  write(str(context_, result));
  return Flow::on;
}

Renderer::Flow Renderer::with(const Statement& s) {
  std::vector<Value> values;
  for (const auto& [target, expression] : s.with) values.push_back(evaluate(*expression));
  const Frame frame(*this, s.hidden);
  for (std::size_t i = 0; i < values.size(); ++i) assign(*s.with[i].first, values[i]);
  return execute(s.body);
}

void Renderer::assign(const Expression& target, const Value& value) {
  if (target.kind == ExpressionKind::name)
    return set_variable(context_.budget, *scope_, target.symbol, value);
  if (target.kind == ExpressionKind::namespace_ref) return assign_namespace(target, value);
  at_ = target.place;
  const auto items = collect(context_, value);
  if (items.size() != target.parts.size()) {
    fail(items.size() > target.parts.size()
             ? fmt::format("too many values to unpack (expected {})", target.parts.size())
             : fmt::format("not enough values to unpack (expected {}, got {})", target.parts.size(),
                           items.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) assign(*target.parts[i], items[i]);
}

void Renderer::assign_namespace(const Expression& target, const Value& value) {
  const Value object = name(target);
  at_ = target.place;
  if (!object.is(Kind::name_space)) fail("cannot assign attribute on non-namespace object");
  if (target.text.starts_with('_'))
    fail(fmt::format(
        "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{}'.",
        target.text));
  object.as<Namespace>().attributes.set(string(context_.budget, target.text), value);
}

/// `for x in source if test`: the test sees the target and is asked when the item is.
std::shared_ptr<Iterator> Renderer::filtered(const Statement& s, std::shared_ptr<Iterator> source) {
  const int depth = source->depth;
  return std::make_shared<Iterator>(
      &context_.budget, depth + 1,
      [this, &s, source, where = scope_](Context& context, Value& item) {
        while (source->advance(context, item)) {
          const Frame frame(*this, where, {});
          assign(*s.target, item);
          if (is_true(context.budget, evaluate(*s.test))) return true;
        }
        return false;
      });
}

Renderer::Flow Renderer::loop(const Statement& s, const Value& iterable, int depth0) {
  at_ = s.expression->place;
  auto source = iterate(context_, iterable);
  if (s.test) source = filtered(s, std::move(source));
  Value variable;
  variable.kind = Kind::loop;
  const auto state = std::make_shared<Loop>(&context_.budget, s.test ? none() : iterable,
                                            std::move(source), depth0);
  variable.object = state;
  if (s.recursive) state->recursive = &s;
  state->scope = scope_;
  bool completed = false;  // as in Jinja, an iteration that break or continue cut short does not
                           // keep the else from being rendered
  while (loop_advance(context_, *state)) {
    const Frame frame(*this, s.hidden);
    assign(*s.target, state->current);
    set_variable(context_.budget, *scope_, kLoopSymbol, variable);
    const Flow flow = execute(s.body);
    completed = completed || flow == Flow::on;
    if (flow == Flow::leave) break;
  }
  state->source = nullptr;
  state->recursive = nullptr;
  state->after.reset();
  state->before = state->current = none();
  if (completed) return Flow::on;
  const Frame frame(*this, s.hidden_otherwise);
  return execute(s.otherwise);
}

/// loop(children): the same loop over other items, as text.
Value Renderer::recurse(const Value& value, Arguments arguments) {
  const auto& state = value.as<Loop>();
  if (!state.recursive) fail("The loop must have the 'recursive' marker to be called recursively.");
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    fail("a recursive loop is called with one argument");
  const Statement& s = *state.recursive;
  const int depth0 = state.depth0 + 1;
  const Capture capture(*this);
  Scope* const before = std::exchange(scope_, state.scope);
  try {
    loop(s, arguments.positional.front(), depth0);
  } catch (...) {
    scope_ = before;
    throw;
  }
  scope_ = before;
  return capture.text();
}

Value Renderer::macro(const Statement& statement) {
  for (Scope* s = scope_; s && !s->kept; s = s->parent) {
    s->kept = true;
    context_.budget.take(std::int64_t(sizeof(Scope)) + 64);
    kept_.push_back(s->shared_from_this());
  }
  Value value;
  value.kind = Kind::macro;
  value.object = std::make_shared<Macro>(&context_.budget, statement, scope_);
  return value;
}

void Renderer::call_block(const Statement& s) {
  const Value caller = macro(s);
  const Value result = call_expression(*s.expression, &caller);
  write(str(context_, result));
}

Value Renderer::call_macro(const Macro& macro, Arguments arguments) {
  const Deeper deeper(context_.budget);
  const Capture capture(*this);
  const Frame frame(*this, macro.scope, macro.statement.hidden);
  bind(macro, arguments);
  execute(macro.statement.body);
  return capture.text();
}

/// The i-th parameter's value; without one and without a default, undefined.
Value Renderer::parameter(const Macro& macro, std::size_t i, Arguments& arguments) {
  const Signature& s = macro.statement.signature;
  if (i < arguments.positional.size()) return arguments.positional[i];
  context_.budget.pass_names(2 * arguments.named.size());
  if (auto value = take_named(arguments, s.names[i])) return *std::move(value);
  const std::size_t first_default = s.names.size() - s.defaults.size();
  if (i >= first_default) return evaluate(*s.defaults[i - first_default]);
  return undefined(context_.budget, fmt::format("parameter '{}' was not provided", s.names[i]));
}

void Renderer::bind(const Macro& macro, Arguments& arguments) {
  const Signature& s = macro.statement.signature;
  const bool names_caller = std::find(s.names.begin(), s.names.end(), "caller") != s.names.end();
  for (std::size_t i = 0; i < s.names.size(); ++i) {
    const Value value = parameter(macro, i, arguments);
    set_variable(context_.budget, *scope_, s.symbols[i], value);
  }
  if (s.uses_caller && !names_caller) {
    const Value caller = take_named(arguments, "caller").value_or(none());
    set_variable(context_.budget, *scope_, kCallerSymbol,
                 caller.is(Kind::none) ? undefined(context_.budget, "No caller defined") : caller);
  }
  if (s.uses_kwargs) {
    auto rest = std::make_shared<Dict>(&context_.budget);
    for (auto& [key, value] : arguments.named) rest->set(string(context_.budget, key), value);
    set_variable(context_.budget, *scope_, kKwargsSymbol, dict(std::move(rest)));
  } else if (!arguments.named.empty()) {
    fail(fmt::format("macro '{}' takes no keyword argument '{}'", macro.name(),
                     arguments.named.front().first));
  }
  const std::size_t taken = std::min(arguments.positional.size(), s.names.size());
  std::vector<Value> rest(arguments.positional.begin() + std::ptrdiff_t(taken),
                          arguments.positional.end());
  if (s.uses_varargs)
    set_variable(context_.budget, *scope_, kVarargsSymbol, tuple(context_.budget, std::move(rest)));
  else if (!rest.empty())
    fail(
        fmt::format("macro '{}' takes not more than {} argument(s)", macro.name(), s.names.size()));
}

}  // namespace rollcall::text::jinja
