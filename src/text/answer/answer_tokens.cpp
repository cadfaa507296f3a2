// Goes over the bytes once. The kind of a non-ASCII character depends on its code point.
#include "text/answer/answer_tokens.hpp"

#include "text/answer/answer_text.hpp"
#include "text/conclusion/prose.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::text {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kMostQuoted = 200;  // bytes in a quotation between apostrophes

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Character {
  char32_t code;
  std::size_t bytes;
};

/// The character at byte `at`. A byte that does not begin a whole character counts as one.
Character character_at(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U;
  };
  const unsigned first = byte(at);
  const std::size_t bytes = first < 0xC2   ? 1
                            : first < 0xE0 ? 2
                            : first < 0xF0 ? 3
                            : first < 0xF5 ? 4
                                           : 1;
  char32_t code = bytes == 1 ? first : first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {0xFFFD, 1};
    code = (code << 6U) | (byte(at + i) & 0x3FU);
  }
  return {first >= 0x80 && bytes == 1 ? 0xFFFD : code, bytes};
}

struct Range {
  char32_t first, last;
  Kind kind;
};

/// Characters that are not letters, in ascending order. Other characters are letters from U+00C0
/// on, and signs below that unless they are ASCII.
constexpr Range kCharacters[] = {{'!', '!', Kind::stop},
                                 {'"', '"', Kind::quote},
                                 {'$', '$', Kind::currency},
                                 {'(', '(', Kind::open},
                                 {')', ')', Kind::close},
                                 {',', ',', Kind::comma},
                                 {'-', '-', Kind::dash},
                                 {'.', '.', Kind::stop},
                                 {':', ':', Kind::colon},
                                 {';', ';', Kind::semicolon},
                                 {'=', '=', Kind::equals},
                                 {'?', '?', Kind::stop},
                                 {'[', '[', Kind::open},
                                 {']', ']', Kind::close},
                                 {'`', '`', Kind::mark},
                                 {'{', '{', Kind::open},
                                 {'}', '}', Kind::close},
                                 {0xA2, 0xA5, Kind::currency},
                                 {0xAB, 0xAB, Kind::quote},
                                 {0xBB, 0xBB, Kind::quote},
                                 {0xD7, 0xD7, Kind::sign},
                                 {0xF7, 0xF7, Kind::sign},
                                 {0x2010, 0x2011, Kind::dash},
                                 {0x2012, 0x2015, Kind::dash},
                                 {0x2018, 0x201F, Kind::quote},
                                 {0x2020, 0x2021, Kind::sign},
                                 {0x2022, 0x2023, Kind::bullet},
                                 {0x2024, 0x2026, Kind::stop},
                                 {0x2030, 0x2038, Kind::sign},
                                 {0x2039, 0x203A, Kind::quote},
                                 {0x203C, 0x203D, Kind::stop},
                                 {0x203E, 0x2079, Kind::sign},
                                 {0x207A, 0x208E, Kind::sign},
                                 {0x20A0, 0x20CF, Kind::currency},
                                 {0x2100, 0x214F, Kind::sign},
                                 {0x2150, 0x218F, Kind::sign},
                                 {0x2190, 0x2191, Kind::sign},
                                 {0x2192, 0x2192, Kind::arrow},
                                 {0x2193, 0x21D1, Kind::sign},
                                 {0x21D2, 0x21D2, Kind::arrow},
                                 {0x21D3, 0x220D, Kind::sign},
                                 {0x220E, 0x220E, Kind::ornament},
                                 {0x220F, 0x2233, Kind::sign},
                                 {0x2234, 0x2234, Kind::arrow},
                                 {0x2235, 0x223B, Kind::sign},
                                 {0x223C, 0x223C, Kind::equals},
                                 {0x223D, 0x2242, Kind::sign},
                                 {0x2243, 0x224D, Kind::equals},
                                 {0x224E, 0x2260, Kind::sign},
                                 {0x2261, 0x2261, Kind::equals},
                                 {0x2262, 0x23FF, Kind::sign},
                                 {0x2400, 0x25FF, Kind::ornament},
                                 {0x2600, 0x27BF, Kind::ornament},
                                 {0x27C0, 0x27F5, Kind::sign},
                                 {0x27F6, 0x27F6, Kind::arrow},
                                 {0x27F7, 0x27F8, Kind::sign},
                                 {0x27F9, 0x27F9, Kind::arrow},
                                 {0x27FA, 0x2AFF, Kind::sign},
                                 {0x2B00, 0x2BFF, Kind::ornament},
                                 {0x3001, 0x3001, Kind::comma},
                                 {0x3002, 0x3002, Kind::stop},
                                 {0x3008, 0x300B, Kind::quote},
                                 {0x300C, 0x300F, Kind::quote},
                                 {0x3010, 0x3010, Kind::open},
                                 {0x3011, 0x3011, Kind::close},
                                 {0xFE00, 0xFE0F, Kind::ornament},
                                 {0xFF01, 0xFF01, Kind::stop},
                                 {0xFF08, 0xFF08, Kind::open},
                                 {0xFF09, 0xFF09, Kind::close},
                                 {0xFF0C, 0xFF0C, Kind::comma},
                                 {0xFF0D, 0xFF0D, Kind::sign},
                                 {0xFF0E, 0xFF0E, Kind::stop},
                                 {0xFF10, 0xFF19, Kind::number},
                                 {0xFF1A, 0xFF1A, Kind::colon},
                                 {0xFF1B, 0xFF1B, Kind::semicolon},
                                 {0xFF1D, 0xFF1D, Kind::equals},
                                 {0xFF1F, 0xFF1F, Kind::stop},
                                 {0xFFFD, 0xFFFD, Kind::sign},
                                 {0x1F000, 0x1FBFF, Kind::ornament}};

bool is_wide_space(char32_t c) {
  return c == 0xA0 || (c >= 0x2000 && c <= 0x200D) || c == 0x202F || c == 0x2060 || c == 0x3000 ||
         c == 0xFEFF;
}

constexpr Kind looked_up(char32_t c) {
  const Range* row =
      std::upper_bound(std::begin(kCharacters), std::end(kCharacters), c,
                       [](char32_t code, const Range& range) { return code < range.first; });
  if (row != std::begin(kCharacters) && c <= row[-1].last) return row[-1].kind;
  if (c < 0x80)
    return is_letter(char(c)) ? Kind::word : is_digit(char(c)) ? Kind::number : Kind::sign;
  return c < 0xC0 ? Kind::sign : Kind::word;
}

/// The kinds of ASCII characters. Most answers are ASCII, and a search for each of their letters
/// would take a third of the scanner's time.
constexpr auto kAscii = [] {
  std::array<Kind, 0x80> kinds{};
  for (char32_t c = 0; c < kinds.size(); ++c) kinds[c] = looked_up(c);
  return kinds;
}();

Kind kind_of(char32_t c) { return c < kAscii.size() ? kAscii[c] : looked_up(c); }

/// For each position of an opening brace, the position after the brace that closes it. 0 if no
/// brace closes it, and at all other positions. A brace after a backslash does not count.
std::vector<std::size_t> matched_braces(std::string_view s) {
  std::vector<std::size_t> closing(s.size(), 0), open;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\') {
      ++i;
    } else if (s[i] == '{') {
      open.push_back(i);
    } else if (s[i] == '}' && !open.empty()) {
      closing[open.back()] = i + 1;
      open.pop_back();
    }
  }
  return closing;
}

/// A mark that closes a formula. Once a search for it has failed, it is not repeated further on in
/// the text, so that all searches together stay linear.
class ClosingMark {
 public:
  explicit ClosingMark(std::string_view mark) : mark_(mark) {}

  /// The mark's first position at or after `from`; kNone if the text has none there. Calls must
  /// have ascending `from`.
  std::size_t find(std::string_view text, std::size_t from) {
    const std::size_t found = is_missing_ ? kNone : text.find(mark_, from);
    is_missing_ = found == kNone;
    return found;
  }

 private:
  std::string_view mark_;
  bool is_missing_ = false;
};

/// Distinguishes apostrophes that quote from those within words. A quotation ends at the latest
/// with its line.
class Apostrophes {
 public:
  explicit Apostrophes(std::string_view text) : s_(text) {}

  void end_line() {
    single_ = false;
    double_ = false;
  }
  /// Whether the apostrophe at `at` opens a quotation, or closes the one that is open.
  bool quotes(std::size_t at) {
    const bool before = begins_word(at) || s_[at - 1] == '[';
    if (before && !is_space(byte(at + 1)) && !single_)
      return single_ = byte(s_.find_first_of("'\n", at + 1)) == '\'';
    return single_ && !before ? std::exchange(single_, false) : false;
  }
  /// Whether the two apostrophes at `at` open a quotation that two others close on this line, or
  /// close one that two apostrophes or two backticks opened.
  bool quotes_twice(std::size_t at) {
    if (begins_word(at)) return double_ = line_from(at + 2).find("''") != kNone;
    return std::exchange(double_, false);
  }
  /// Called at each backtick. Two of them open a TeX quotation, ``quoted'', which two apostrophes
  /// close, if no other backticks follow on the line.
  void read_backtick(std::size_t at) {
    const std::string_view line = line_from(at);
    double_ = double_ || (line.find_first_not_of('`') == 2 && line.find('`', 2) == kNone &&
                          line.find("''") != kNone);
  }

 private:
  char byte(std::size_t i) const { return i < s_.size() ? s_[i] : '\n'; }
  bool begins_word(std::size_t at) const {
    return at == 0 || is_space(s_[at - 1]) || s_[at - 1] == '(';
  }
  std::string_view line_from(std::size_t from) const {
    const std::string_view near = s_.substr(std::min(from, s_.size()), kMostQuoted);
    return near.substr(0, near.find('\n'));
  }

  std::string_view s_;
  bool single_ = false, double_ = false;  // whether a quotation is open that began with one
                                          // apostrophe, or with two
};

/// Whether a LaTeX command, named without its backslash, draws an ornament.
bool is_ornament(std::string_view name) {
  for (const std::string_view sign :
       {"checkmark", "square", "blacksquare", "qed", "Box", "blacklozenge", "QED", "qedsymbol"})
    if (name == sign) return true;
  return false;
}

class Scanner {
 public:
  Scanner(std::string_view s, std::vector<Token>& out)
      : s_(s), out_(&out), brace_ends_(matched_braces(s)), apostrophes_(s) {}

  void run() {
    while (at_ < s_.size()) {
      const char c = s_[at_];
      if (c == '\n') line();
      else if (is_space(c)) skip(1);
      else if (is_digit(c)) number();
      else if (c == '\\') command();
      else if (c == '$') dollar();
      else if (c == '*' || c == '_' || c == '~') emphasis();
      else if (c == '#') heading();
      else if (const std::size_t tag = c == '<' ? tag_end() : 0; tag > 0) take(Kind::mark, tag);
      else if ((c == '>' || c == '+' || c == '-') && begins_line() && follows_space(at_ + 1))
        take(c == '>' ? Kind::mark : Kind::bullet, at_ + 1);
      else other();
    }
  }

 private:
  char at(std::size_t i) const { return i < s_.size() ? s_[i] : '\n'; }
  bool follows_space(std::size_t i) const { return is_space(at(i)); }
  bool begins_line() const {
    return out_->empty() || out_->back().kind == Kind::line ||
           (out_->back().kind == Kind::mark && begins_marked_line_) ||
           out_->back().kind == Kind::bullet;
  }
  void skip(std::size_t bytes) {
    at_ += bytes;
    spaced_ = true;
  }
  void take(Kind kind, std::size_t end, std::size_t inner = 0, std::size_t last = 0) {
    begins_marked_line_ = kind == Kind::mark && begins_line();
    out_->push_back({kind, spaced_, at_, end, inner, last});
    at_ = end;
    spaced_ = kind == Kind::line;
  }

  void line() {
    apostrophes_.end_line();
    take(Kind::line, at_ + 1);
  }

  void number() {
    std::size_t end = at_;
    while (end < s_.size() &&
           (is_digit(s_[end]) || ((s_[end] == '.' || s_[end] == ',') && is_digit(at(end + 1)))))
      ++end;
    const bool is_item = begins_line() && end - at_ <= 2 && (at(end) == '.' || at(end) == ')') &&
                         follows_space(end + 1) && at(end + 1) != '\n' && end + 1 < s_.size();
    // A list begins with 1, so that "42. It is" does not begin one.
    const bool counts = is_item && (s_.substr(at_, end - at_) == "1" || listed_);
    listed_ = listed_ || counts;
    if (counts) take(Kind::bullet, end + 1);
    else take(Kind::number, end);
  }

  /// Adds a formula as a token, or an ornament if the formula is nothing but the sign that ends a
  /// proof.
  void formula(std::size_t end, std::size_t inner, std::size_t last) {
    std::string_view held = trim(s_.substr(inner, last - inner));
    for (const std::string_view space : {"\\hfill", "\\quad", "\\qquad", "\\;", "\\,"})
      if (held.starts_with(space)) held = trim(held.substr(space.size()));
    if (held.ends_with('.')) held.remove_suffix(1);
    const bool ends_proof = held.starts_with('\\') && is_ornament(held.substr(1));
    take(ends_proof ? Kind::ornament : Kind::formula, end, inner, last);
  }

  void command() {
    const char next = at(at_ + 1);
    if (next == '(' || next == '[') {
      const std::size_t end = (next == '(' ? round_ : square_).find(s_, at_ + 2);
      if (end != kNone) return formula(end + 2, at_ + 2, end);
    }
    if (next == '$') return take(Kind::currency, at_ + 2);
    if (is_space(next) || next == ',' || next == ';' || next == '!' || next == '\\')
      return skip(std::min<std::size_t>(2, s_.size() - at_));
    if (!is_letter(next)) return take(Kind::sign, std::min(at_ + 2, s_.size()));
    std::size_t end = at_ + 1;
    while (is_letter(at(end))) ++end;
    const std::string_view name = s_.substr(at_ + 1, end - at_ - 1);
    if (name == "n") return take(Kind::line, end);  // a line break that is spelt "\n"
    if (name == "begin") {
      const std::size_t close = environment_end_.find(s_, end);
      if (close != kNone && brace_ends_[close + 4] > 0)
        return take(Kind::formula, brace_ends_[close + 4], at_, brace_ends_[close + 4]);
    }
    for (const std::string_view sign : {"approx", "simeq", "cong", "equiv", "sim"})
      if (name == sign) return take(Kind::equals, end);
    for (const std::string_view sign :
         {"to", "rightarrow", "Rightarrow", "implies", "longrightarrow"})
      if (name == sign) return take(Kind::arrow, end);
    if (is_ornament(name)) return take(Kind::ornament, end);
    while (at(end) == '{' && brace_ends_[end] > 0) end = brace_ends_[end];
    take(Kind::command, end);
  }

  /// A dollar opens a formula, by the rules that Pandoc uses to tell formulas from prices: no space
  /// after the first dollar and before the second one, and no digit after the second one. A space
  /// on both inner sides is accepted as well.
  void dollar() {
    if (at(at_ + 1) == '$') {
      const std::size_t end = dollars_.find(s_, at_ + 2);
      if (end != kNone) return formula(end + 2, at_ + 2, end);
      return take(Kind::mark, at_ + 2);
    }
    std::size_t end = s_.find_first_of("$\n", at_ + 1);
    while (end != kNone && s_[end] == '$' && s_[end - 1] == '\\')
      end = s_.find_first_of("$\n", end + 1);
    if (end == kNone || s_[end] == '\n' || end == at_ + 1) return take(Kind::currency, at_ + 1);
    const bool tight = !is_space(s_[at_ + 1]) && !is_space(s_[end - 1]) && !is_digit(at(end + 1)),
               loose = is_space(s_[at_ + 1]) && is_space(s_[end - 1]);
    if (tight || loose) return formula(end + 1, at_ + 1, end);
    take(Kind::currency, at_ + 1);
  }

  /// Emphasis marks are at the edge of a word. Between two operands they are arithmetic or an
  /// index.
  void emphasis() {
    std::size_t end = at_;
    while (at(end) == s_[at_]) ++end;
    if (s_[at_] == '~' && end == at_ + 2) {  // text that is struck out does not count
      const std::size_t close = s_.find("~~", end);
      if (close != kNone && close < s_.find('\n', end)) return take(Kind::mark, close + 2);
    }
    const char before = at_ == 0 ? '\n' : s_[at_ - 1], after = at(end);
    const auto is_operand = [](char c) {
      return is_letter(c) || is_digit(c) || c == ')' || c == '(';
    };
    if (s_[at_] == '*' && end == at_ + 1 && begins_line() && is_space(after))
      return take(Kind::bullet, end);
    const bool within = is_operand(before) && is_operand(after),
               between = is_space(before) && is_space(after);
    const bool arithmetic = s_[at_] == '~'   ? end == at_ + 1
                            : s_[at_] == '_' ? within
                                             : (between && end == at_ + 1) ||
                                                   (is_digit(before) && is_digit(after)) ||
                                                   (within && end == at_ + 1);
    take(arithmetic ? Kind::sign : Kind::mark, end);
  }

  /// The end of an HTML tag here that only changes the look of text; 0 if there is no such tag
  /// here.
  std::size_t tag_end() const {
    std::size_t end = at_ + (at(at_ + 1) == '/' ? 2 : 1);
    const std::size_t name = end;
    while (is_letter(at(end)) && end < name + 8) ++end;
    for (const std::string_view known :
         {"b", "i", "u", "em", "strong", "code", "mark", "p", "span", "br", "tt", "center"})
      if (s_.substr(name, end - name) == known && at(end) == '>') return end + 1;
    return 0;
  }

  void heading() {
    std::size_t end = at_;
    while (at(end) == '#') ++end;
    take(end - at_ == 4                        ? Kind::hashes
         : begins_line() && follows_space(end) ? Kind::mark
                                               : Kind::sign,
         end);
  }

  void other() {
    const auto [code, bytes] = character_at(s_, at_);
    if (is_wide_space(code)) return skip(bytes);
    const Kind kind = kind_of(code);
    if (kind == Kind::word) return word();
    if (code == '\'' && at(at_ + 1) == '\'' && apostrophes_.quotes_twice(at_))
      return take(Kind::quote, at_ + 2);
    if (code == '\'' && apostrophes_.quotes(at_)) return take(Kind::quote, at_ + 1);
    if (code == '`') apostrophes_.read_backtick(at_);
    if (kind == Kind::dash && at(at_ + bytes) == '>') return take(Kind::arrow, at_ + bytes + 1);
    if (kind == Kind::equals && at(at_ + bytes) == '>') return take(Kind::arrow, at_ + bytes + 1);
    if (kind == Kind::mark)
      return take(Kind::mark, std::min(s_.find_first_not_of('`', at_), s_.size()));
    take(kind, at_ + bytes);
  }

  void word() {
    std::size_t end = at_, letters = 0;
    while (end < s_.size()) {
      const auto [code, bytes] = character_at(s_, end);
      const Kind kind = kind_of(code);
      if (kind == Kind::word) {
        ++letters, end += bytes;
      } else if (kind == Kind::number && letters > 0 &&
                 static_cast<unsigned char>(s_[end - 1]) < 0x80) {
        end += bytes;  // x1; but no digit after a word of a script without spaces
      } else {
        const bool apostrophe = code == '\'' || code == 0x2019,
                   hyphen = code == '-' && letters >= 2 && is_letter(at(end + 2));
        if (!(apostrophe || hyphen) || !is_letter(at(end + bytes))) break;
        end += bytes;
      }
    }
    take(Kind::word, end);
  }

  std::string_view s_;
  std::vector<Token>* out_;
  std::vector<std::size_t> brace_ends_;
  Apostrophes apostrophes_;
  ClosingMark round_{"\\)"}, square_{"\\]"}, environment_end_{"\\end{"}, dollars_{"$$"};
  std::size_t at_ = 0;
  bool spaced_ = true;               // before the next token there is white space or a line break
  bool begins_marked_line_ = false;  // the last token is a mark at the beginning of a line
  bool listed_ = false;              // a numbered list has begun
};

}  // namespace

Tokens::Tokens(std::string_view given) : text(given), low(lower(given)) {
  all.reserve(given.size() / 4 + 8);
  Scanner(given, all).run();
}

}  // namespace rollcall::text
