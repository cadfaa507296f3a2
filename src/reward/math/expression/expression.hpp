// An answer as a tree of expressions, which the parser makes.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward::math {

/// The kinds up to `based` are single values; the others are words and structures.
enum class Kind {
  number,      ///< value
  symbol,      ///< text: a variable's name, also "pi", "e" and "i", which are the constants
  infinity,    ///< positive infinity
  add,         ///< all children
  multiply,    ///< all children
  divide,      ///< two children
  negate,      ///< one child
  power,       ///< base, exponent
  call,        ///< text: the function's name; children: its arguments
  plus_minus,  ///< one child, as in ±a, or two, as in a ± b; text: pm or mp
  percent,     ///< one child
  degrees,     ///< one child
  unit,        ///< text: the words after the value; one child
  /// Parts separated by colons; text: "clock" for 8:05, "either" for 8:30, which may also be a
  /// ratio.
  ratio,
  based,      ///< text: the digits in their base; value: the number that they are
  words,      ///< text, in lower case with single spaces
  list,       ///< items without brackets; text: the word between them, "and" or "or", else empty
  bracketed,  ///< text: both brackets, "(]"; a tuple or an interval
  set,        ///< items within braces
  matrix,     ///< value: the number of columns; children row by row
  /// Text: one letter of =<>lg!i for each sign (l: less or equal, g: greater or equal, !: not
  /// equal, i: element of); one child more than signs. An approximate value after an exact one is
  /// dropped.
  relation,
  /// Joins its children from the left. Text: one letter of un- for each sign (u: union, n:
  /// intersection, -: difference).
  join
};

struct Node {
  Kind kind = Kind::number;
  std::string text{};
  std::optional<mpq_class> value{};
  std::vector<Node> children{};
};

/// The way to read the few spellings that have two meanings.
struct Reading {
  bool thousands = true;           ///< 1,234 is one number
  bool decimal_logarithm = false;  ///< \log without a base has base 10, not e
  bool letter_units = false;       ///< 5 m is a length, not a product
  bool periods = true;             ///< 0.5(20) repeats its last digits, even before an equals sign
};

struct Parsed {
  Node root;
  /// Whether the answer has a spelling that another Reading would read differently.
  bool has_thousands = false, has_plain_logarithm = false, has_letter_unit = false,
       has_period = false;
};

/// Reads LaTeX or plain text. Throws NoVerdict (limits.hpp) for a text that is not an expression,
/// is not supported, or is beyond the limits.
Parsed parse_answer(std::string_view text, const Reading& reading);

}  // namespace rollcall::reward::math
