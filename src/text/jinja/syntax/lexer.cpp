// The states of Jinja's lexer: text, comment, raw, and the inside of {{ }} and {% %}.
#include "text/jinja/syntax/lexer.hpp"

#include "text/jinja/syntax/string_literal.hpp"
#include "text/jinja/values/characters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace rollcall::text::jinja {
namespace {

/// "\r\n" and "\r" to "\n"; one newline at the end is dropped (keep_trailing_newline is off).
std::string normal_source(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out += source[i] == '\r' ? '\n' : source[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

// Longest first, so that "//" is not two divisions.
constexpr std::array kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                   "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                   ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_byte(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normal_source(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) text();
    tokens_.push_back({TokenKind::end, "", place()});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool here(std::string_view s) const { return rest().starts_with(s); }

  Place place() {
    for (; placed_ < at_; ++placed_) {
      if (source_[placed_] == '\n') ++place_.line, place_.column = 1;
      else if ((source_[placed_] & 0xC0) != 0x80) ++place_.column;
    }
    return place_;
  }

  [[noreturn]] void fail_here(std::string problem) {
    throw Fault{FaultKind::syntax, std::move(problem), place()};
  }

  void add(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), place()});
  }

  /// Moves on and notes whether a line begins there, on which lstrip_blocks depends.
  void skip(std::size_t n) {
    at_ += n;
    if (n > 0) line_begins_ = source_[at_ - 1] == '\n';
  }
  void skip_space() { skip(rest().size() - strip_left(rest()).size()); }
  /// After the end of a tag: "-" takes all white space, none of both takes one newline
  /// (trim_blocks).
  void trim_after(char sign, bool trim_blocks = true) {
    if (sign == '-') skip_space();
    else if (sign != '+' && trim_blocks && here("\n")) skip(1);
  }

  /// Text before a tag that carries `sign`.
  void data(std::string_view text, char sign, bool lstrip) {
    if (sign == '-') {
      text = strip_right(text);
    } else if (sign != '+' && lstrip) {
      const std::size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
      if ((line > 0 || line_begins_) && strip_left(text.substr(line)).empty())
        text = text.substr(0, line);
    }
    if (!text.empty()) add(TokenKind::data, std::string(text));
  }

  /// Length of "raw" with its white space and "%}" behind `n` bytes of "{%", 0 when it is another
  /// tag.
  std::size_t raw_length(std::size_t n) const {
    std::string_view r = strip_left(rest().substr(n));
    if (!r.starts_with("raw")) return 0;
    r = strip_left(r.substr(3));
    if (r.starts_with("-%}")) return rest().size() - strip_left(r.substr(3)).size();
    return r.starts_with("%}") ? rest().size() - r.size() + 2 : 0;
  }

  /// Data up to the next tag, and the tag.
  void text() {
    std::size_t tag = rest().find('{');
    while (tag != std::string_view::npos &&
           (at_ + tag + 1 >= source_.size() ||
            std::string_view("{%#").find(source_[at_ + tag + 1]) == std::string_view::npos)) {
      tag = rest().find('{', tag + 1);
    }
    if (tag == std::string_view::npos) {
      add(TokenKind::data, std::string(rest()));
      at_ = source_.size();
      return;
    }
    const char kind = source_[at_ + tag + 1],
               sign = at_ + tag + 2 < source_.size() ? source_[at_ + tag + 2] : ' ';
    data(rest().substr(0, tag), sign, kind != '{');
    at_ += tag;
    const std::size_t opening = sign == '-' || sign == '+' ? 3 : 2;
    if (kind == '#') return comment(opening);
    if (const std::size_t raw_tag = kind == '%' ? raw_length(opening) : 0; raw_tag > 0)
      return raw(raw_tag);
    add(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
    skip(opening);
    inside(kind == '{' ? "}}" : "%}", kind == '{');
  }

  void comment(std::size_t opening) {
    const Place begin = place();
    skip(opening);
    if (rest().empty())
      return;  // Jinja misses the end of a comment, or of raw text, only where
               // something stands in it
    const std::size_t end = rest().find("#}");
    if (end == std::string_view::npos)
      throw Fault{FaultKind::syntax, "Missing end of comment tag", begin};
    const char sign = end > 0 ? rest()[end - 1] : ' ';
    skip(end + 2);
    trim_after(sign);
  }

  void raw(std::size_t opening) {
    const Place begin = place();
    skip(opening);
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
      skip(rest().size() - r.size() + 2);
      return trim_after(closing);
    }
    throw Fault{FaultKind::syntax, "Missing end of raw directive", begin};
  }

  /// Tokens up to `closing`, which inside brackets is two operators.
  void inside(std::string_view closing, bool variable) {
    std::string brackets;
    while (true) {
      if (brackets.empty()) {
        const char sign = here("-") ? '-' : !variable && here("+") ? '+' : ' ';
        if (rest().substr(sign == ' ' ? 0 : 1).starts_with(closing)) {
          add(variable ? TokenKind::variable_end : TokenKind::block_end, "");
          skip(closing.size() + (sign == ' ' ? 0 : 1));
          return trim_after(sign, !variable);
        }
      }
      if (at_ >= source_.size()) return;  // the parser says what is missing
      token(brackets);
    }
  }

  void token(std::string& brackets) {
    std::size_t after = at_;
    const char32_t c = next_character(source_, after);
    if (is_space(c)) return skip_space();
    if (number()) return;
    if (is_name_byte(source_[at_])) return name();
    if (c >= 0x80 && is_alnum(c))
      throw Fault{FaultKind::unsupported, "a name with characters beyond ASCII is not supported",
                  place()};
    if ((c == '\'' || c == '"') && quoted()) return;
    for (const std::string_view op : kOperators) {
      if (!here(op)) continue;
      balance(op, brackets);
      add(TokenKind::op, std::string(op));
      return skip(op.size());
    }
    fail_here(fmt::format("unexpected character '{}'", std::string(source_, at_, after - at_)));
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
      std::size_t after = at_ + n;
      if (is_alnum(next_character(source_, after)))
        throw Fault{FaultKind::unsupported, "a name with characters beyond ASCII is not supported",
                    place()};
    }
    add(TokenKind::name, std::string(rest().substr(0, n)));
    skip(n);
  }

  /// False: it has no end.
  bool quoted() {
    std::size_t n = 1;
    while (n < rest().size() && rest()[n] != rest()[0]) n += rest()[n] == '\\' ? 2 : 1;
    if (n >= rest().size()) return false;
    try {
      add(TokenKind::string, unescaped(rest().substr(1, n - 1)));
    } catch (Fault& fault) {
      fault.place = place();
      throw;
    }
    skip(n + 1);
    return true;
  }

  /// Digits with single underscores between them, of the given base, from `i` on.
  std::size_t digits(std::size_t i, int base, bool underscore_first = false) const {
    const auto is_one = [&](std::size_t k) {
      if (k >= rest().size()) return false;
      const char c = rest()[k];
      const int value = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : 99;
      return value < base;
    };
    if (underscore_first && i < rest().size() && rest()[i] == '_' && is_one(i + 1)) ++i;
    if (!is_one(i)) return i;
    while (is_one(i) || (i < rest().size() && rest()[i] == '_' && is_one(i + 1))) ++i;
    return i;
  }

  std::string plain(std::size_t from, std::size_t to) const {
    std::string s(rest().substr(from, to - from));
    std::erase(s, '_');
    return s;
  }

  bool number() {
    if (!is_digit(rest()[0])) return false;
    const std::size_t whole = digits(0, 10);
    std::size_t end = whole;
    if (end < rest().size() && rest()[end] == '.') {
      if (const std::size_t fraction = digits(end + 1, 10); fraction > end + 1) end = fraction;
    }
    if (end < rest().size() && (rest()[end] == 'e' || rest()[end] == 'E')) {
      const std::size_t sign =
          end + 1 < rest().size() && (rest()[end + 1] == '+' || rest()[end + 1] == '-') ? 1 : 0;
      if (const std::size_t exponent = digits(end + 1 + sign, 10); exponent > end + 1 + sign)
        end = exponent;
    }
    if (end > whole && (at_ == 0 || source_[at_ - 1] != '.')) return add_real(end);
    return add_integer(whole);
  }

  bool add_real(std::size_t end) {
    const std::string s = plain(0, end);
    add(TokenKind::real, s);
    tokens_.back().real = std::strtod(s.c_str(), nullptr);
    skip(end);
    return true;
  }

  bool add_integer(std::size_t end) {
    int base = 10;
    std::size_t begin = 0;
    const char letter = rest().size() > 1 ? char(rest()[1] | 0x20) : ' ';
    if (rest()[0] == '0') {
      const int other = letter == 'b' ? 2 : letter == 'o' ? 8 : letter == 'x' ? 16 : 0;
      if (const std::size_t n = other ? digits(2, other, true) : 0; n > 2)
        base = other, begin = 2, end = n;
      else end = leading_zeros();
    }
    const std::string s = plain(begin, end);
    add(TokenKind::integer, std::string(rest().substr(0, end)));
    tokens_.back().too_large =
        std::from_chars(s.data(), s.data() + s.size(), tokens_.back().integer, base).ec !=
        std::errc();
    skip(end);
    return true;
  }

  /// A decimal number that begins with 0 is 0; what follows is the next token.
  std::size_t leading_zeros() const {
    std::size_t n = 1;
    while (n < rest().size() && (rest()[n] == '0' || (rest()[n] == '_' && n + 1 < rest().size() &&
                                                      rest()[n + 1] == '0')))
      ++n;
    return n;
  }

  std::string source_;
  std::size_t at_ = 0, placed_ = 0;
  Place place_{1, 1};
  bool line_begins_ = true;
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
