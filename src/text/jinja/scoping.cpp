// Tracks the order in which a frame's code reads and sets names, without the frames inside it,
// following the rules of jinja2/idtracking.py.
#include "text/jinja/scoping.hpp"

#include <map>
#include <utility>

namespace rollcall::text::jinja {
namespace {

/// The names of one frame. `variables` has the frame's variables, and true for those that are
/// undefined at its beginning.
struct Names {
  const Names* parent = nullptr;
  std::map<int, bool> variables = {};
  bool in_condition = false;  ///< a name that only one branch sets starts with the outer value

  bool outer_has(int symbol) const {
    return parent && (parent->variables.count(symbol) > 0 || parent->outer_has(symbol));
  }
  void read(int symbol) {
    if (variables.count(symbol) == 0 && !outer_has(symbol)) variables[symbol] = false;
  }
  void set(int symbol) {
    if (variables.count(symbol) == 0) variables[symbol] = !in_condition && !outer_has(symbol);
  }
  void parameter(int symbol) { variables[symbol] = false; }
};

using Visit = void (Names::*)(int);

void read_names(Names& names, const ExpressionPtr& e);

void read_arguments(Names& names, const ArgumentList& list) {
  for (const auto& part : list.positional) read_names(names, part);
  for (const auto& [name, part] : list.named) read_names(names, part);
  read_names(names, list.more);
  read_names(names, list.more_named);
}

void read_names(Names& names, const ExpressionPtr& e) {
  if (!e) return;
  if (e->kind == ExpressionKind::name || e->kind == ExpressionKind::namespace_ref)
    names.read(e->symbol);
  for (const auto& part : e->parts) read_names(names, part);
  if (e->arguments) read_arguments(names, *e->arguments);
}

void visit_target(Names& names, const Expression& target, Visit visit) {
  if (target.kind == ExpressionKind::name) (names.*visit)(target.symbol);
  if (target.kind == ExpressionKind::namespace_ref) names.read(target.symbol);
  for (const auto& part : target.parts) visit_target(names, *part, visit);
}

void visit_block(Names& names, const Block& block);

void visit_branches(Names& names, const std::vector<Branch>& branches) {
  const bool before = std::exchange(names.in_condition, true);
  for (const auto& branch : branches) {
    read_names(names, branch.test);
    visit_block(names, branch.body);
  }
  names.in_condition = before;
}

void visit_statement(Names& names, const Statement& s) {
  switch (s.kind) {
    case StatementKind::print:
    case StatementKind::loop:
    case StatementKind::call:
    case StatementKind::filter: read_names(names, s.expression); break;
    case StatementKind::condition: visit_branches(names, s.branches); break;
    case StatementKind::assign:
      read_names(names, s.expression);
      visit_target(names, *s.target, &Names::set);
      break;
    case StatementKind::assign_body: visit_target(names, *s.target, &Names::set); break;
    case StatementKind::macro: names.set(s.symbol); break;
    case StatementKind::with:
      for (const auto& [target, value] : s.with) read_names(names, value);
      break;
    default: break;
  }
}

void visit_block(Names& names, const Block& block) {
  for (const auto& s : block) visit_statement(names, s);
}

std::vector<int> hidden_of(const Names& names) {
  std::vector<int> hidden;
  for (const auto& [symbol, is_hidden] : names.variables) {
    if (is_hidden) hidden.push_back(symbol);
  }
  return hidden;
}

void settle_block(Block& block, const Names& names);

/// Settles a frame whose parameters are in `names`, and returns its hidden names.
std::vector<int> settle_frame(Block& body, Names& names) {
  visit_block(names, body);
  settle_block(body, names);
  return hidden_of(names);
}

void settle_loop(Statement& s, const Names& outer) {
  Names names{.parent = &outer}, otherwise{.parent = &outer};
  names.parameter(kLoopSymbol);
  visit_target(names, *s.target, &Names::parameter);
  s.hidden = settle_frame(s.body, names);
  s.hidden_otherwise = settle_frame(s.otherwise, otherwise);
}

void settle_statement(Statement& s, const Names& outer) {
  if (s.kind == StatementKind::condition) {
    for (auto& branch : s.branches) settle_block(branch.body, outer);
    return;
  }
  if (s.kind == StatementKind::loop) return settle_loop(s, outer);
  Names names{.parent = &outer};
  for (const int symbol : s.signature.symbols) names.parameter(symbol);
  for (const int symbol : {kCallerSymbol, kVarargsSymbol, kKwargsSymbol}) {
    if (s.kind == StatementKind::macro || s.kind == StatementKind::call) names.parameter(symbol);
  }
  for (const auto& e : s.signature.defaults) read_names(names, e);
  for (const auto& [target, value] : s.with) visit_target(names, *target, &Names::parameter);
  if (s.kind == StatementKind::assign_body) visit_target(names, *s.target, &Names::set);
  if (s.kind == StatementKind::assign_body || s.kind == StatementKind::filter)
    read_names(names, s.expression);
  s.hidden = settle_frame(s.body, names);
}

void settle_block(Block& block, const Names& names) {
  for (auto& s : block) settle_statement(s, names);
}

}  // namespace

void settle_names(Template& parsed) {
  Names names;
  parsed.hidden = settle_frame(parsed.body, names);
}

}  // namespace rollcall::text::jinja
