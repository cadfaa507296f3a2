// What an answer says, as a tree: the parser's output.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward::math {

/// Up to `based` a value, or none yet; structures follow.
enum class Kind {
  number,      ///< value
  symbol,      ///< text: a variable's name, also "pi", "e" and "i", which are the constants
  infinity,    ///<
  add,         ///< all children
  multiply,    ///< all children
  divide,      ///< two children
  negate,      ///< one child
  power,       ///< base, exponent
  call,        ///< text: the function's name; children: its arguments
  plus_minus,  ///< one child (the sign is open) or two (between them); text: pm or mp
  percent,     ///< one child
  degrees,     ///< one child
  unit,        ///< text: the words behind the value; one child
  ratio,  ///< parts between colons; text: "clock" for 8:05, "either" for 8:30, which may be a ratio
          ///< too
  based,  ///< text: the digits; value: the base
  words,  ///< text, in lower case with single spaces
  list,   ///< items without brackets; text: the word between them, "and" or "or", else empty
  bracketed,  ///< text: both brackets, "(]"; a tuple or an interval
  set,        ///< items within braces
  matrix,     ///< value: the number of columns; children row by row
  relation,   ///< text: one letter of =<>lg!i for each sign (l, g: or equal; !: not equal; i:
              ///< element of); children: one more. What an exact value is about is left out
  join  ///< of its children, from the left; text: one letter of un- for each sign (u: union, n:
        ///< intersection, -: difference)
};

struct Node {
  Kind kind = Kind::number;
  std::string text{};
  std::optional<mpq_class> value{};
  std::vector<Node> children{};
};

/// How the few spellings with two meanings are read.
struct Reading {
  bool thousands = true;           ///< 1,234 is one number
  bool decimal_logarithm = false;  ///< \log without a base has base 10, not e
  bool letter_units = false;       ///< 5 m is a length, not a product
  bool periods = true;             ///< 0.5(20) repeats its last digits, even before an equals sign
};

struct Parsed {
  Node root;
  /// the other reading would differ
  bool has_thousands = false, has_plain_logarithm = false, has_letter_unit = false,
       has_period = false;
};

/// Reads LaTeX or plain text. Throws NoVerdict (limits.hpp) for what is no expression, not
/// supported, or beyond the limits.
Parsed parse_answer(std::string_view text, const Reading& reading);

}  // namespace rollcall::reward::math
