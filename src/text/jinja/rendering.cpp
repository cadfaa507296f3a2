// Variables are found by a search through their scopes, which is charged to the budget.
#include "text/jinja/rendering.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {

Scopes::Scopes(Budget& budget, const Template& parsed) : budget_(budget), parsed_(parsed) {}

void Scopes::set_in(Scope& scope, int symbol, Value value) {
  budget_.pass_names(scope.variables.size());
  for (auto& [other, old] : scope.variables) {
    if (other == symbol) {
      old = std::move(value);
      return;
    }
  }
  scope.variables.emplace_back(symbol, std::move(value));
}

void Scopes::set(int symbol, Value value) { set_in(*current_, symbol, std::move(value)); }

const Value* Scopes::find(int symbol) const {
  for (const Scope* s = current_; s; s = s->parent) {
    budget_.pass_names(s->variables.size());
    for (const auto& [other, value] : s->variables) {
      if (other == symbol) return &value;
    }
  }
  return nullptr;
}

void Scopes::hide(Scope& scope, const std::vector<int>& symbols) {
  budget_.step(std::int64_t(symbols.size()));
  for (const int s : symbols)
    set_in(scope, s,
           undefined(budget_, fmt::format("'{}' is undefined", parsed_.symbols[std::size_t(s)])));
}

void Scopes::keep() {
  for (Scope* s = current_; s && !s->kept; s = s->parent) {
    s->kept = true;
    budget_.take(std::int64_t(sizeof(Scope)) + 64);
    kept_.push_back(s->shared_from_this());
  }
}

void Scopes::clear() {
  root_->variables.clear();
  for (const auto& scope : kept_) scope->variables.clear();
}

void Output::write(std::string_view text) {
  budget_.work(std::int64_t(text.size()));
  budget_.take(std::int64_t(text.size()));
  *text_ += text;
}

Rendering::Rendering(const Template& tree, const Budget& budget)
    : parsed(tree), context{budget, {}}, scopes(context.budget, tree), output(context.budget) {}

/// Objects that may hold themselves are emptied while all of them live, so that destroying one does
/// not free a long chain of others.
Rendering::~Rendering() {
  scopes.clear();
  for (const auto& value : context.changing) {
    if (value.is(Kind::name_space)) value.as<Namespace>().attributes.items.clear();
    if (value.is(Kind::loop)) value.as<Loop>().last_changed = none();
  }
}

bool Rendering::mentions(std::string_view name) const {
  return std::find(parsed.symbols.begin(), parsed.symbols.end(), name) != parsed.symbols.end();
}

void Rendering::set(std::string_view name, const Value& value) {
  const auto symbol = std::find(parsed.symbols.begin(), parsed.symbols.end(), name);
  if (symbol != parsed.symbols.end()) scopes.set(int(symbol - parsed.symbols.begin()), value);
}

Frame::Frame(Rendering& rendering, Scope* parent, const std::vector<int>& hidden)
    : scopes_(rendering.scopes), before_(scopes_.current()), scope_(std::make_shared<Scope>()) {
  scope_->parent = parent;
  scopes_.hide(*scope_, hidden);
  scopes_.enter(scope_.get());
}

Capture::Capture(Rendering& rendering)
    : rendering_(rendering), before_(rendering.output.redirect(&text_)) {}

Capture::~Capture() {
  rendering_.output.redirect(before_);
  rendering_.context.budget.give(std::int64_t(text_.size()));
}

}  // namespace rollcall::text::jinja
