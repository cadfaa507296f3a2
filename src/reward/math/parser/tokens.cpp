// Tokens of LaTeX, plain text and Unicode alike.
#include "reward/math/parser/tokens.hpp"

#include "reward/math/limits.hpp"
#include "reward/math/parser/numerals.hpp"
#include "reward/math/parser/units.hpp"
#include "text/conclusion/prose.hpp"

#include <array>
#include <cctype>

namespace rollcall::reward::math {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '~' || c == '$';
}

struct Spelling {
  std::string_view from, to;
};

/// Unicode characters and the commands that they mean. If the name is one character and not a
/// letter, it is that sign.
constexpr Spelling kUnicode[] = {
    {"π", "pi"},     {"√", "sqrt"},  {"∞", "infty"},  {"×", "times"},    {"·", "cdot"},
    {"⋅", "cdot"},   {"÷", "div"},   {"≤", "le"},     {"≥", "ge"},       {"≠", "ne"},
    {"≈", "approx"}, {"∪", "cup"},   {"∈", "in"},     {"°", "degree"},   {"±", "pm"},
    {"−", "-"},      {"–", "-"},     {"θ", "theta"},  {"α", "alpha"},    {"β", "beta"},
    {"λ", "lambda"}, {"μ", "mu"},    {"φ", "varphi"}, {"γ", "gamma"},    {"⌊", "lfloor"},
    {"⌋", "rfloor"}, {"⌈", "lceil"}, {"⌉", "rceil"},  {"∅", "emptyset"}, {"ω", "omega"},
    {"σ", "sigma"},  {"δ", "delta"}, {"ρ", "rho"},    {"\xC2\xA0", " "}, {"′", "prime"},
    {"⩽", "le"},     {"⩾", "ge"},    {"º", "degree"}, {"˚", "degree"},   {"∩", "cap"},
    {"⟨", "("},      {"⟩", ")"},     {"€", "euro"},   {"£", "pounds"},   {"¥", "yen"},
};

/// Commands that only change the layout.
constexpr std::string_view kLayout[] = {
    "left",         "right",     "big",        "Big",        "bigg",         "Bigg",
    "bigl",         "bigr",      "Bigl",       "Bigr",       "biggl",        "biggr",
    "displaystyle", "textstyle", "quad",       "qquad",      "limits",       "nolimits",
    "scriptstyle",  "middle",    "rm",         "bf",         "it",           "hfill",
    "thinspace",    "enspace",   "mathord",    "mathstrut",  "blacksquare",  "checkmark",
    "square",       "tiny",      "small",      "large",      "Large",        "LARGE",
    "huge",         "Huge",      "normalsize", "scriptsize", "footnotesize", "scriptscriptstyle",
    "sf",           "tt",        "sl",         "sc",         "mathsurround", "allowbreak",
    "nobreak",      "newline",   "linebreak",  "par",        "noindent"};

/// Other names for the same thing.
constexpr Spelling kSameCommand[] = {
    {"dfrac", "frac"},
    {"tfrac", "frac"},
    {"cfrac", "frac"},
    {"leq", "le"},
    {"geq", "ge"},
    {"leqslant", "le"},
    {"geqslant", "ge"},
    {"neq", "ne"},
    {"lt", "<"},
    {"gt", ">"},
    {"dbinom", "binom"},
    {"tbinom", "binom"},
    {"ast", "*"},
    {"lbrace", "{"},
    {"rbrace", "}"},
    {"infin", "infty"},
    {"vert", "|"},
    {"lvert", "|"},
    {"rvert", "|"},
    {"mid", "|"},
    {"lbrack", "["},
    {"rbrack", "]"},
    {"simeq", "approx"},
    {"inf", "infty"},
    {"infinity", "infty"},
    {"oo", "infty"},
    {"asin", "arcsin"},
    {"acos", "arccos"},
    {"atan", "arctan"},
    {"lg", "log10"},
    {"lor", "or"},
    {"land", "and"},
    {"degrees", "degree"},
    {"varnothing", "emptyset"},
    {"bigcup", "cup"},
    {"lparen", "("},
    {"rparen", ")"},
    {"tg", "tan"},
    {"ctg", "cot"},
    {"Pi", "pi"},
    {"wedge", "and"},
    {"vee", "or"},
    {"nicefrac", "frac"},
    {"sfrac", "frac"},
    {"langle", "("},
    {"rangle", ")"},
    {"backslash", "setminus"},
    {"smallsetminus", "setminus"},
    {"bigcap", "cap"},
    {"dots", "ldots"},
    {"cdots", "ldots"},
    {"texteuro", "euro"},
    {"top", "T"},
    {"intercal", "T"},
};

constexpr std::string_view kFunctions[] = {
    "sin",  "cos",  "tan", "cot", "sec",   "csc", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "ln",  "log", "log10", "exp", "abs",    "floor",  "ceil",   "cis"};
constexpr std::string_view kPlainWords[] = {
    "sqrt", "cbrt",  "pi",    "and",  "or",    "inf",    "infinity", "infty",
    "oo",   "theta", "alpha", "beta", "gamma", "lambda", "degrees",  "degree",
    "asin", "acos",  "atan",  "frac", "union", "lg",     "infty"};
constexpr std::string_view kUnitWords[] = {
    "mm",  "cm",   "dm",     "km",    "nm",    "ft",    "yd",    "mi",  "mg",  "kg",  "ml",  "mL",
    "cL",  "dL",   "kL",     "lb",    "lbs",   "oz",    "hr",    "hrs", "ms",  "ns",  "kW",  "mW",
    "MW",  "GW",   "Hz",     "kHz",   "MHz",   "GHz",   "THz",   "mph", "kmh", "kph", "min", "sec",
    "in",  "inch", "inches", "rad",   "kJ",    "MJ",    "GJ",    "mJ",  "kN",  "MN",  "kPa", "MPa",
    "kV",  "mV",   "mA",     "kWh",   "eV",    "keV",   "MeV",   "GeV", "kB",  "KB",  "MB",  "GB",
    "sq",  "cu",   "TB",     "mol",   "kcal",  "cal",   "atm",   "psi", "rpm", "pm",  "deg", "yr",
    "yrs", "gal",  "square", "cubic", "cents", "hours", "miles", "USD", "mod"};
constexpr std::string_view kShortWords[] = {
    "yes", "no",  "all", "odd", "none", "not", "the", "is",  "red", "blue", "one", "two",
    "six", "ten", "dne", "DNE", "No",   "Yes", "The", "All", "mon", "sun",  "tue", "wed",
    "thu", "fri", "sat", "Mon", "Sun",  "if",  "of",  "to",  "per", "any",  "set", "sum",
    "can", "has", "was", "are", "its",  "for", "out", "old", "new", "few"};
constexpr std::string_view kLetterUnits = "mgshLlNJWVKA";
constexpr std::string_view kTextCommands[] = {
    "text",         "textbf",     "textit", "textrm", "mbox",   "hbox",   "mathrm", "emph",
    "operatorname", "textnormal", "texttt", "textsf", "textup", "textsl", "textsc", "textmd"};

std::string_view same(std::string_view name) {
  const auto row = std::find_if(std::begin(kSameCommand), std::end(kSameCommand),
                                [&](const Spelling& s) { return s.from == name; });
  return row == std::end(kSameCommand) ? name : row->to;
}

/// A command under its canonical name, or the sign that it means.
Token named(std::string_view name, std::size_t begin, std::size_t end) {
  name = same(name);
  const bool is_sign = name.size() == 1 && !is_letter(name.front());
  return {is_sign ? TokenKind::sign : TokenKind::command, std::string(name), begin, end, false};
}

std::string trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return is_space(c); };
  const auto first = std::find_if_not(text.begin(), text.end(), is_blank);
  const auto last =
      std::find_if_not(text.rbegin(), std::make_reverse_iterator(first), is_blank).base();
  return {first, last};
}

}  // namespace

bool is_letter_unit(std::string_view word) {
  return word.size() == 1 && kLetterUnits.find(word[0]) != std::string_view::npos;
}
bool is_unit_word(std::string_view word) { return holds(kUnitWords, word); }
bool is_function(std::string_view name) { return holds(kFunctions, name); }

std::size_t group_end(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') ++at;
    else if (text[at] == '{') ++depth;
    else if (text[at] == '}' && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

/// The position after white space, dollar signs and layout commands.
std::size_t Tokens::skip(std::size_t at, bool& spaced) const {
  while (at < text_.size()) {
    const std::string_view rest = text_.substr(at);
    // if a "\ " was trimmed, only its backslash is left
    if (is_space(rest[0]) || rest == "\\") ++at, spaced = true;
    else if (rest.size() > 1 && rest[0] == '\\' &&
             (std::string_view(",;:!> ").find(rest[1]) != std::string_view::npos))
      at += 2, spaced = true;
    else if (rest.starts_with("\xC2\xA0")) at += 2, spaced = true;
    else if (rest[0] == '\\' && rest.size() > 1 && is_letter(rest[1])) {
      std::size_t end = 1;
      while (end < rest.size() && is_letter(rest[end])) ++end;
      const std::string_view name = rest.substr(1, end - 1);
      if (!holds(kLayout, name)) return at;
      at += end;
      // the invisible bracket of \left. and \right.
      if ((name == "left" || name == "right") && at < text_.size() && text_[at] == '.') ++at;
    } else return at;
  }
  return at;
}

/// The end of digits with separators for thousands: 1,234,567 and 1{,}234 and 1\,234 and 1 234. The
/// first group has one to three digits, the others three.
std::size_t Tokens::thousands_end(std::size_t at, std::string& digits) {
  const auto run = [&](std::size_t from) {
    std::size_t end = from;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    return end;
  };
  std::size_t end = run(at);
  digits = text_.substr(at, end - at);
  if (digits.size() > 3 || digits.empty() || digits[0] == '0') return end;
  for (;;) {
    std::size_t next = 0;
    for (const std::string_view separator :
         {",\\!", "{,}", "\\!,\\!", "\\,", "\\ ", " ", "~", ","}) {
      if (text_.substr(end).starts_with(separator)) {
        next = end + separator.size();
        if (text_.substr(run(next)).starts_with('/')) next = 0;  // 1 125/250
        if (separator == "," && !thousands_ && run(next) == next + 3) saw_thousands_ = true;
        if (separator == "," && !thousands_) next = 0;
        break;
      }
    }
    if (next == 0 || run(next) != next + 3) return end;
    if (text_[next - 1] == ',') saw_thousands_ = true;
    digits += text_.substr(next, 3);
    end = next + 3;
  }
}

namespace {

/// Whether decimal places follow a point: digits, or a mark of repeating digits.
bool begins_places(std::string_view rest) {
  if (!rest.empty() && is_digit(rest[0])) return true;
  if (rest.starts_with('(')) {
    const std::size_t close = rest.find_first_not_of("0123456789", 1);
    return close > 1 && close < rest.size() && rest[close] == ')';
  }
  for (const std::string_view mark : {"\\overline", "\\bar", "\\dot"})
    if (rest.starts_with(mark))
      return rest.size() > mark.size() && (rest[mark.size()] == '{' || is_digit(rest[mark.size()]));
  return false;
}

}  // namespace

Token Tokens::number(std::size_t at) {
  std::string digits;
  std::size_t end = thousands_end(at, digits);
  if (end < text_.size() && text_[end] == '.') {
    if (begins_places(text_.substr(end + 1))) {
      digits += '.', ++end;
      while (end < text_.size() && is_digit(text_[end])) digits += text_[end++];
    }
  }
  if (end + 1 < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {  // 1.5e-3, but not 2e^x
    std::size_t first = end + 1;
    if (text_[first] == '-' || text_[first] == '+') ++first;
    std::size_t last = first;
    while (last < text_.size() && is_digit(text_[last])) ++last;
    if (last > first) digits += 'e', digits += text_.substr(end + 1, last - end - 1), end = last;
  }
  return {TokenKind::number, digits, at, end, false};
}

Token Tokens::backslash(std::size_t at) {
  if (at + 1 >= text_.size()) unreadable("a backslash at the end");
  if (!is_letter(text_[at + 1])) {
    const char c = text_[at + 1];
    if (c == '\\') return {TokenKind::command, "\\", at, at + 2, false};  // a row of a matrix ends
    if (c == '{' || c == '}') return {TokenKind::command, std::string(1, c), at, at + 2, false};
    return {TokenKind::sign, std::string(1, c), at, at + 2, false};  // \% and others
  }
  std::size_t end = at + 1;
  while (end < text_.size() && is_letter(text_[end])) ++end;
  const std::string_view name = text_.substr(at + 1, end - at - 1);
  if (!holds(kTextCommands, name)) return named(name, at, end);
  bool spaced = false;
  const std::size_t open = skip(end, spaced);
  if (open >= text_.size() || text_[open] != '{')
    unreadable("a command of text without its braces");
  const std::size_t close = group_end(text_, open);
  if (close == std::string_view::npos) unreadable("a brace that is never closed");
  std::string content = trimmed(text_.substr(open + 1, close - open - 2));
  if (content.size() > 2 && content.front() == '(' && content.back() == ')')
    content = content.substr(1, content.size() - 2);
  std::size_t before = at;
  for (bool is_blank = true; is_blank && before > 0;) {
    const std::string_view mark = before > 1 ? text_.substr(before - 2, 2) : std::string_view();
    const bool is_mark = mark == "\\," || mark == "\\ " || mark == "\\;" || mark == "\\!";
    is_blank = is_mark || is_space(text_[before - 1]);
    before -= is_mark ? 2 : is_blank ? 1 : 0;
  }
  const bool is_unit_letter = is_behind_value(before) && is_unit(content);
  if (content.size() == 1 && is_letter(content[0]) && !is_unit_letter)
    return {TokenKind::letter, content, at, close, false};
  if (is_function(same(content)) || content == "and" || content == "or" || content == "pi" ||
      content == "infinity")
    return named(content, at, close);
  return {TokenKind::words, content, at, close, false};
}

std::string_view Tokens::run(std::size_t at) const {
  std::size_t end = at;
  while (end < text_.size() && is_letter(text_[end])) ++end;
  return text_.substr(at, end - at);
}

/// Reads commas as the brackets that open at `at` use them. If they contain a comma, but no
/// semicolon and no comma with a space after it, no comma in them separates thousands.
bool Tokens::enter_brackets(std::size_t at) {
  const bool outer = thousands_;
  int depth = 0;
  bool has_comma = false;
  for (; at < text_.size(); ++at) {
    const char c = text_[at];
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth <= 0) break;
    if (c == ';' ||
        (c == ',' && at + 1 < text_.size() && (is_space(text_[at + 1]) || text_[at + 1] == '\\')))
      return outer;
    has_comma |= c == ',';
  }
  if (has_comma) thousands_ = false;
  return outer;
}

namespace {

constexpr std::string_view kGlued[] = {"arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
                                       "sqrt",   "sin",    "cos",    "tan",  "cot",  "sec",
                                       "csc",    "log",    "ln",     "exp",  "pi"};

/// Length of the function name at the beginning of a run of letters; zero if there is none.
std::size_t glued_function(std::string_view run) {
  const auto row = std::find_if(std::begin(kGlued), std::end(kGlued),
                                [&](std::string_view f) { return run.starts_with(f); });
  return row == std::end(kGlued) ? 0 : row->size();
}

/// Whether a run of letters consists of functions and single letters: xlnx, cosAcosB, arctanx. Two
/// single letters in a row make it a word.
bool is_glued(std::string_view run) {
  bool has_function = false, after_letter = false;
  while (!run.empty()) {
    const std::size_t size = glued_function(run);
    if (size == 0 && after_letter) return false;
    after_letter = size == 0;
    has_function |= size > 0;
    run.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return has_function;
}

}  // namespace

namespace {

/// Whether three letters after a number are a word (5 elk) and not a product (5 abc).
bool is_short_word(std::string_view run) {
  const auto [least, most] = std::minmax_element(run.begin(), run.end());
  return run.size() == 3 && *least >= 'a' && *most <= 'z' && *most - *least > 2 &&
         run.find_first_of("aeiou") != std::string_view::npos;
}

}  // namespace

/// Whether a number, or something that may end a value, precedes `at`, with or without white space
/// between.
bool Tokens::is_behind_value(std::size_t at) const {
  while (at > 0 && is_space(text_[at - 1])) --at;
  return at > 0 && (is_digit(text_[at - 1]) || text_[at - 1] == '/' || text_[at - 1] == '}');
}

/// The end of a word, or of two units joined by a hyphen: kilowatt-hours.
std::size_t Tokens::word_end(std::size_t at) const {
  const std::size_t end = at + run(at).size();
  if (end >= text_.size() || text_[end] != '-') return end;
  const std::string_view second = run(end + 1);
  return second.size() > 1 && is_unit(run(at)) && is_unit(second) ? end + 1 + second.size() : end;
}

/// A run of letters as a token: a word with a meaning, words of a text, or the first of several
/// variables.
Token Tokens::word(std::size_t at) const {
  const std::string_view run = this->run(at);
  const std::size_t end = at + run.size();
  const auto words = [&](std::size_t last) {
    return Token{TokenKind::words, std::string(text_.substr(at, last - at)), at, last, false};
  };
  const bool is_article = (run == "a" || run == "A") && end < text_.size() && text_[end] == ' ';
  if (run.size() == 1 && !is_article) return {TokenKind::letter, std::string(run), at, end, false};
  if (const auto numeral = numeral_at(text_.substr(at))) return words(at + numeral->size);
  if (run.size() == 1) return {TokenKind::letter, std::string(run), at, end, false};
  if (run == "union") return {TokenKind::command, "cup", at, end, false};
  if (is_function(same(run)) || holds(kPlainWords, run)) return named(run, at, end);
  if (is_glued(run)) {
    const std::size_t size = glued_function(run);
    return size > 0 ? named(run.substr(0, size), at, at + size)
                    : Token{TokenKind::letter, std::string(1, run[0]), at, at + 1, false};
  }
  const bool is_after_digit = at > 0 && is_digit(text_[at - 1]);
  if ((run.size() > 3 || holds(kShortWords, run)) &&
      !(is_after_digit && !is_unit(run) && run != "percent"))
    return words(word_end(at));
  if (is_behind_value(at) && (is_unit_word(run) || (!is_after_digit && is_short_word(run))))
    return words(word_end(at));
  for (const std::string_view function : {"ln", "pi"})
    if (run.starts_with(function)) return named(function, at, at + function.size());
  return {TokenKind::letter, std::string(1, text_[at]), at, at + 1, false};
}

Token Tokens::at(std::size_t at) {
  bool spaced = false;
  at = skip(at, spaced);
  Token token;
  if (at >= text_.size()) {
    token = {TokenKind::end, "", text_.size(), text_.size(), false};
  } else if (is_digit(text_[at]) || (text_[at] == '.' && begins_places(text_.substr(at + 1)))) {
    token = number(at);
  } else if (text_[at] == '\\') {
    token = backslash(at);
  } else if (is_letter(text_[at])) {
    token = word(at);
  } else if (static_cast<unsigned char>(text_[at]) < 0x80) {
    token = {TokenKind::sign, std::string(1, text_[at]), at, at + 1, false};
  } else {
    const auto row = std::find_if(std::begin(kUnicode), std::end(kUnicode), [&](const Spelling& s) {
      return text_.substr(at).starts_with(s.from);
    });
    if (row == std::end(kUnicode)) unreadable("a character that is no mathematics");
    token = named(row->to, at, at + row->from.size());
  }
  token.spaced = spaced;
  return token;
}

}  // namespace rollcall::reward::math
