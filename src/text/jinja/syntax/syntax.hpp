// The syntax tree of a template.
#pragma once

#include "text/jinja/call.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rollcall::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind : std::uint8_t {
  // After each kind, the members of Expression that it uses.
  constant,       ///< constant
  name,           ///< symbol
  namespace_ref,  ///< symbol, text: ns.attribute as a target
  tuple,          ///< parts
  list,           ///< parts
  dict,           ///< parts: key, value, key, value
  conditional,    ///< parts: test, then, else (null if it is undefined)
  both,           ///< parts: a and b
  either,         ///< parts: a or b
  negation,       ///< parts: not a
  compare,        ///< parts: a, b, c; operators between them
  binary,         ///< parts: a, b; operators: one
  concat,         ///< parts
  negative,       ///< parts: -a
  positive,       ///< parts: +a
  attribute,      ///< parts: object; text
  item,           ///< parts: object, key
  slice,          ///< parts: object, start, stop, step (each may be null)
  call,           ///< parts: callee; arguments
  filter,         ///< parts: value (null for the body of a block); text, row, arguments
  test,           ///< parts: value; text, row, arguments
};

enum class Operator : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more, more_named;  ///< *args, **kwargs
};

struct Expression {
  ExpressionKind kind;
  Place place;
  int height = 1;  ///< levels of the tree from here down, this one included
  int symbol = -1;
  std::string text = {};
  Value constant = {};
  std::vector<ExpressionPtr> parts = {};
  std::vector<Operator> operators = {};
  std::unique_ptr<ArgumentList> arguments = {};
  const Row* row = nullptr;  ///< null for an unknown filter or test, which fails when it is reached
};

struct Statement;
using Block = std::vector<Statement>;

enum class StatementKind : std::uint8_t {
  // After each kind, the members of Statement that it uses, or its tag if it uses none.
  text,         ///< text
  print,        ///< expression
  loop,         ///< target, expression, test, body, otherwise, recursive
  condition,    ///< branches: test (null for else), body
  assign,       ///< target, expression
  assign_body,  ///< target, expression (filters, may be null), body
  macro,        ///< symbol, text, signature, body
  call,         ///< signature, expression (a call), body
  filter,       ///< expression (filters), body
  with,         ///< with (targets and values), body
  scope,        ///< body: the tag `generation`, which marks what the assistant said
  leave,        ///< none: the tag `break`
  next,         ///< none: the tag `continue`
};

/// The parameters of a macro or of a tag `call`.
struct Signature {
  std::vector<int> symbols;
  std::vector<std::string> names;
  std::vector<ExpressionPtr> defaults;  ///< defaults of the last parameters, those that have one
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Branch;
struct Statement {
  StatementKind kind;
  Place place;
  std::string text = {};
  int symbol = -1;
  ExpressionPtr target = {}, expression = {}, test = {};
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> with = {};
  std::vector<Branch> branches = {};
  Signature signature = {};
  Block body = {}, otherwise = {};
  /// Names that are undefined when the frames of the bodies begin (scoping.hpp).
  std::vector<int> hidden = {}, hidden_otherwise = {};
  bool recursive = false;
};
struct Branch {
  ExpressionPtr test;
  Block body;
};

/// Symbols of the names that rendering itself sets.
enum KnownSymbol : int { kLoopSymbol, kCallerSymbol, kVarargsSymbol, kKwargsSymbol, kKnownSymbols };

struct Template {
  Block body;
  std::vector<int> hidden = {};      ///< names that are undefined when the template begins
  std::vector<std::string> symbols;  ///< [symbol] its name in the template
};

// Building the tree.
/// Throws Fault if the tree would be higher than its limit. Parts may be null.
ExpressionPtr make_expression(ExpressionKind kind, const Place& place,
                              std::vector<ExpressionPtr> parts = {});
/// Adds the height of an expression's arguments to its height. Throws Fault as make_expression()
/// does.
void include_arguments(Expression& e);
std::vector<ExpressionPtr> parts_of(ExpressionPtr a);
std::vector<ExpressionPtr> parts_of(ExpressionPtr a, ExpressionPtr b);

/// Throws Fault with its place for a template that is incorrect or not supported.
Template parse(std::string_view source);

}  // namespace rollcall::text::jinja
