// The rules of the grammar, from the outermost in. Each begins at the cursor's token, reads the
// part that it is named after, and leaves the cursor at the token after that.
#pragma once

#include "reward/math/expression/expression.hpp"
#include "reward/math/parser/cursor.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

// Every rule throws NoVerdict: unreadable, unsupported, or exhausted beyond the limits of Cursor.

// parse.cpp: lists, relations, unions and ratios
Node parse_items(Cursor& in);     ///< one item, or a list of several
Node parse_relation(Cursor& in);  ///< a single expression, or several with relation signs between
                                  ///< them
/// The current token as a sign of Kind::relation, or '~' for "about"; 0 for any other token.
char relation_sign(const Cursor& in);

// parse_arithmetic.cpp: sums, products and powers
/// A sum; also {a \over b} and {5 \choose 2}, which TeX writes between their parts.
Node parse_sum(Cursor& in);
Node parse_factor(Cursor& in);     ///< a primary with its exponents, indices, degrees, percents
Node parse_exponent(Cursor& in);   ///< an exponent, from the token after the caret on
bool at_factor(const Cursor& in);  ///< whether a factor may begin here

// parse_operators.cpp: operators as signs and as words
/// 1 or -1 at a sign, which may be a word: "negative 5", "5 plus 3". 0 elsewhere.
int sign_here(Cursor& in);
/// Takes a multiplication sign after `before`, which may be a word, or the x of 3 x 10^5. Returns
/// whether there was one.
bool take_times(Cursor& in, const Node& before);
bool take_division(Cursor& in);  ///< takes a division sign in any spelling but "/", if there is one
/// Adds the half of "5 and a half" to `value`, the 5. Returns whether there was such a part.
bool take_numeral_after_and(Cursor& in, Node& value);
/// A factor after an operator, with its sign, which may be a mixed number: 2 * -3, 2 \times
/// 1\frac{1}{2}, and 2 * 1 1/2 if it may be spaced.
Node parse_operand(Cursor& in, bool may_be_spaced);
/// Reads the fraction after an integer: 3 1/2 and 3\frac{1}{2} are sums, 3\frac{x}{2} and
/// 3\frac{5}{2} are products.
Node parse_mixed_number(Cursor& in, Node whole);

// parse_choices.cpp: binomials that are not written \binom{5}{2}
/// A letter. C(5,2) is one call, which may also be a point's name and coordinates.
Node parse_letter(Cursor& in);
Node parse_prescript(Cursor& in);               ///< {}_5C_2 and ^5C_2, from the "_" or "^" on
Node with_infix_choices(Cursor& in, Node all);  ///< 5C2, from the C on; otherwise just `all`, the 5

// parse_units.cpp: units, currencies and words after a value
/// Whether a unit of `value` begins here: words, a currency, or letters after a space that are a
/// unit.
bool at_unit(Cursor& in, const Node& value);
bool at_unit_below(Cursor& in, const Node& value);  ///< whether the "/" of 5/\text{s} is here
/// `value` with the unit that begins here: cm^2, square units, km/h, N\cdot m. Words that change
/// the value are applied to it: 5 million, 75 percent.
Node with_unit(Cursor& in, Node value);
/// `value` with the words after it, the first of which may change it.
Node with_words(Node value, std::string words);
/// The currency if the current token is its sign; nullptr for any other token.
const char* currency_here(const Cursor& in);
/// Appends to a unit the sign that joins it with the next one: m/s, J/(kg K), N\cdot m.
void take_unit_sign(Cursor& in, std::string& unit);
/// A token as a word in a unit: its words, or the run of letters that begins there. Empty for any
/// other token.
std::string unit_word(const Cursor& in, const Token& token);
/// 1^\circ 30' 15'', from the number after the degrees on. Nothing else may follow degrees.
Node with_arc(Cursor& in, Node degrees);

// parse_values.cpp: literals, words and brackets
Node parse_primary(Cursor& in);     ///< a literal, name, word, command or bracket
Node parse_decimal(Cursor& in);     ///< a literal, with the digits that repeat
Node parse_bracketed(Cursor& in);   ///< ]0,1[ is written (0,1) elsewhere
Node parse_set(Cursor& in);         ///< a set, from the token after the "\{" on
Node parse_all_except(Cursor& in);  ///< all real numbers but the items that follow
/// The argument of a command: a group, one primary, or (`one_digit`) one digit, as in \frac12.
Node parse_argument(Cursor& in, bool one_digit);
/// Words for which there is also a sign, such as "all real numbers" and "negative infinity".
std::optional<Node> named_by_words(std::string_view words);

// parse_commands.cpp: TeX commands
Node parse_command(Cursor& in);  ///< fractions, roots, functions, accents, matrices, ...

}  // namespace rollcall::reward::math
