// The states of Jinja's lexer, which are text, comments, raw text, and the inside of {{ }} and {%
// %}.
#include "text/jinja/syntax/lexer.hpp"

#include "text/jinja/syntax/number_literal.hpp"
#include "text/jinja/syntax/source_cursor.hpp"
#include "text/jinja/syntax/string_literal.hpp"
#include "text/jinja/values/characters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::text::jinja {
namespace {

// The longest come first, so that "//" is not two divisions.
constexpr std::array kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                   "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                   ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_byte(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The length of a tag {% raw %} whose first `opening` bytes, "{%" and its sign, were found at the
/// beginning of `source`. 0 if it is another tag.
std::size_t raw_length(std::string_view source, std::size_t opening) {
  std::string_view r = strip_left(source.substr(opening));
  if (!r.starts_with("raw")) return 0;
  r = strip_left(r.substr(3));
  if (r.starts_with("-%}")) return source.size() - strip_left(r.substr(3)).size();
  return r.starts_with("%}") ? source.size() - r.size() + 2 : 0;
}

/// The position of the next "{{", "{%" or "{#"; npos if there is none.
std::size_t find_tag(std::string_view source) {
  for (std::size_t at = source.find('{'); at != std::string_view::npos;
       at = source.find('{', at + 1)) {
    if (at + 1 < source.size() &&
        std::string_view("{%#").find(source[at + 1]) != std::string_view::npos)
      return at;
  }
  return std::string_view::npos;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (!source_.is_at_end()) text();
    tokens_.push_back({TokenKind::end, "", source_.place()});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.rest(); }

  [[noreturn]] void fail_here(std::string problem) {
    throw Fault{FaultKind::syntax, std::move(problem), source_.place()};
  }

  void add(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), source_.place()});
  }

  /// Adds the text before a tag. `sign` is the tag's "-", "+" or another character; "-" strips
  /// white space before the tag, and `lstrip` strips the white space that begins the tag's line.
  void data(std::string_view text, char sign, bool lstrip) {
    if (sign == '-') {
      text = strip_right(text);
    } else if (sign != '+' && lstrip) {
      const std::size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
      if ((line > 0 || source_.begins_line()) && strip_left(text.substr(line)).empty())
        text = text.substr(0, line);
    }
    if (!text.empty()) add(TokenKind::data, std::string(text));
  }

  /// Adds the data up to the next tag, and the tag's tokens.
  void text() {
    const std::size_t tag = find_tag(rest());
    if (tag == std::string_view::npos) {
      add(TokenKind::data, std::string(rest()));
      return source_.skip_all();
    }
    const char kind = rest()[tag + 1], sign = tag + 2 < rest().size() ? rest()[tag + 2] : ' ';
    data(rest().substr(0, tag), sign, kind != '{');
    source_.skip(tag);
    const std::size_t opening = sign == '-' || sign == '+' ? 3 : 2;
    if (kind == '#') return comment(opening);
    if (const std::size_t raw_tag = kind == '%' ? raw_length(rest(), opening) : 0; raw_tag > 0)
      return raw(raw_tag);
    add(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
    source_.skip(opening);
    inside(kind == '{' ? "}}" : "%}", kind == '{');
  }

  void comment(std::size_t opening) {
    const Place begin = source_.place();
    source_.skip(opening);
    if (rest().empty()) return;  // Jinja accepts an empty comment or raw text that has no end
    const std::size_t end = rest().find("#}");
    if (end == std::string_view::npos)
      throw Fault{FaultKind::syntax, "Missing end of comment tag", begin};
    const char sign = end > 0 ? rest()[end - 1] : ' ';
    source_.skip(end + 2);
    source_.trim_after(sign);
  }

  void raw(std::size_t opening) {
    const Place begin = source_.place();
    source_.skip(opening);
    if (rest().empty()) return;
    for (std::size_t tag = rest().find("{%"); tag != std::string_view::npos;
         tag = rest().find("{%", tag + 1)) {
      std::string_view r = rest().substr(tag + 2);
      const char sign = r.empty() ? ' ' : r.front();
      if (sign == '-' || sign == '+') r.remove_prefix(1);
      r = strip_left(r);
      if (!r.starts_with("endraw")) continue;
      r = strip_left(r.substr(6));
      const char closing = r.empty() ? ' ' : r.front();
      if (closing == '-' || closing == '+') r.remove_prefix(1);
      if (!r.starts_with("%}")) continue;
      data(rest().substr(0, tag), sign, true);
      source_.skip(rest().size() - r.size() + 2);
      return source_.trim_after(closing);
    }
    throw Fault{FaultKind::syntax, "Missing end of raw directive", begin};
  }

  /// Adds the tokens of a tag up to `closing`. Inside brackets, `closing` is two operators.
  void inside(std::string_view closing, bool variable) {
    std::string brackets;
    while (true) {
      if (brackets.empty()) {
        const char sign = source_.is_here("-")                ? '-'
                          : !variable && source_.is_here("+") ? '+'
                                                              : ' ';
        if (rest().substr(sign == ' ' ? 0 : 1).starts_with(closing)) {
          add(variable ? TokenKind::variable_end : TokenKind::block_end, "");
          source_.skip(closing.size() + (sign == ' ' ? 0 : 1));
          return source_.trim_after(sign, !variable);
        }
      }
      if (source_.is_at_end()) return;  // the parser reports the missing token
      token(brackets);
    }
  }

  void token(std::string& brackets) {
    std::size_t length = 0;
    const char32_t c = next_character(rest(), length);
    if (is_space(c)) return source_.skip_space();
    if (is_digit(rest()[0])) return number();
    if (is_name_byte(rest()[0])) return name();
    if (c >= 0x80 && is_alnum(c))
      throw Fault{FaultKind::unsupported, "a name with characters beyond ASCII is not supported",
                  source_.place()};
    if ((c == '\'' || c == '"') && quoted()) return;
    for (const std::string_view op : kOperators) {
      if (!source_.is_here(op)) continue;
      balance(op, brackets);
      add(TokenKind::op, std::string(op));
      return source_.skip(op.size());
    }
    fail_here(fmt::format("unexpected character '{}'", std::string(rest().substr(0, length))));
  }

  void balance(std::string_view op, std::string& brackets) {
    if (op == "{") brackets += '}';
    if (op == "(") brackets += ')';
    if (op == "[") brackets += ']';
    if (op != "}" && op != ")" && op != "]") return;
    if (brackets.empty()) fail_here(fmt::format("unexpected '{}'", op));
    if (brackets.back() != op[0])
      fail_here(fmt::format("unexpected '{}', expected '{}'", op, brackets.back()));
    brackets.pop_back();
  }

  void name() {
    std::size_t n = 0;
    while (n < rest().size() && is_name_byte(rest()[n])) ++n;
    if (n < rest().size() && (rest()[n] & 0x80) != 0) {
      std::size_t after = n;
      if (is_alnum(next_character(rest(), after)))
        throw Fault{FaultKind::unsupported, "a name with characters beyond ASCII is not supported",
                    source_.place()};
    }
    add(TokenKind::name, std::string(rest().substr(0, n)));
    source_.skip(n);
  }

  /// Adds a string literal. If it has no end, nothing is added and the result is false.
  bool quoted() {
    std::size_t n = 1;
    while (n < rest().size() && rest()[n] != rest()[0]) n += rest()[n] == '\\' ? 2 : 1;
    if (n >= rest().size()) return false;
    try {
      add(TokenKind::string, unescaped(rest().substr(1, n - 1)));
    } catch (Fault& fault) {
      fault.place = source_.place();
      throw;
    }
    source_.skip(n + 1);
    return true;
  }

  void number() {
    const NumberLiteral literal = number_literal(rest(), source_.previous() == '.');
    std::string text(rest().substr(0, literal.length));
    if (literal.is_real) std::erase(text, '_');  // messages name it without underscores
    add(literal.is_real ? TokenKind::real : TokenKind::integer, std::move(text));
    tokens_.back().integer = literal.integer;
    tokens_.back().real = literal.real;
    tokens_.back().too_large = literal.too_large;
    source_.skip(literal.length);
  }

  SourceCursor source_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  if (!is_utf8(source)) throw Fault{FaultKind::syntax, "the template is not UTF-8", {1, 1}};
  return Lexer(source).run();
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data: return "template data / text";
    case TokenKind::variable_begin: return "begin of print statement";
    case TokenKind::variable_end: return "end of print statement";
    case TokenKind::block_begin: return "begin of statement block";
    case TokenKind::block_end: return "end of statement block";
    case TokenKind::end: return "end of template";
    case TokenKind::string: return "string";
    default: return token.text;
  }
}

}  // namespace rollcall::text::jinja
