// The state that the functions of the parser share: the position in the tokens, and what is known
// about names, filters and tests.
#pragma once

#include "text/jinja/syntax/syntax.hpp"
#include "text/jinja/syntax/token_cursor.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text::jinja {

/// How deeply calls of parser functions may nest. A pair of brackets takes four levels, so that
/// about 60 pairs fit. Jinja's own parser stops at about 70.
constexpr int kNesting = 250;

/// Numbers the names of a template in the order in which they are first read. The first ones are
/// the names of KnownSymbol.
class SymbolTable {
 public:
  SymbolTable();
  int number(const std::string& name);
  std::vector<std::string> names() const;  ///< [number] the name

 private:
  std::map<std::string, int> numbers_;
};

/// Filters and tests that are not in the tables. Jinja refuses them when it reads a template,
/// except within a condition, where they fail only when they are reached. A body with its own
/// variables does not count as being within the conditions around it.
class UnknownRows {
 public:
  std::size_t count() const { return all_.size(); }
  void add(Fault fault) { all_.push_back({std::move(fault), false}); }
  /// A condition surrounds all rows added since count() was `from`.
  void soften(std::size_t from);
  /// A body with its own variables surrounds all rows added since count() was `from`.
  void harden(std::size_t from);
  /// Throws the Fault of the first one, unless all of them are within conditions.
  void refuse_first() const;

 private:
  struct Unknown {
    Fault fault;
    bool hard;  // whether conditions around it no longer matter
  };
  std::vector<Unknown> all_;
};

struct ParserState {
  TokenCursor tokens;
  SymbolTable symbols = {};
  UnknownRows unknown = {};
  std::vector<Signature*> macros = {};  ///< signatures whose bodies are being read, the outermost
                                        ///< first
  int nesting = 0;                      ///< levels of parser functions, at most kNesting
};

/// Counts one more level of parser functions while the object lives. Throws Fault if there are too
/// many.
class NestingLevel {
 public:
  explicit NestingLevel(ParserState& state) : state_(state) {
    if (++state_.nesting > kNesting)
      throw Fault{FaultKind::limit, "the template is nested too deeply",
                  state_.tokens.current().place};
  }
  ~NestingLevel() { --state_.nesting; }
  NestingLevel(const NestingLevel&) = delete;
  NestingLevel& operator=(const NestingLevel&) = delete;

 private:
  ParserState& state_;
};

}  // namespace rollcall::text::jinja
