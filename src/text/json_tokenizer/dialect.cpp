// Goes over the expression once, and throws the name of a construct that it does not know.
#include "text/json_tokenizer/dialect.hpp"

#include "text/json_tokenizer/steps/unicode.hpp"
#include "text/json_tokenizer/unicode_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <stdexcept>
#include <vector>

namespace rollcall::text::json_tokenizer {
namespace {

struct CategoryName {
  const char *brief, *full;
  Category first, last;
};
constexpr CategoryName kCategoryNames[] = {
    {"L", "Letter", Category::lu, Category::lo},
    {"Lu", "Uppercase_Letter", Category::lu, Category::lu},
    {"Ll", "Lowercase_Letter", Category::ll, Category::ll},
    {"Lt", "Titlecase_Letter", Category::lt, Category::lt},
    {"Lm", "Modifier_Letter", Category::lm, Category::lm},
    {"Lo", "Other_Letter", Category::lo, Category::lo},
    {"M", "Mark", Category::mn, Category::me},
    {"Mn", "Nonspacing_Mark", Category::mn, Category::mn},
    {"Mc", "Spacing_Mark", Category::mc, Category::mc},
    {"Me", "Enclosing_Mark", Category::me, Category::me},
    {"N", "Number", Category::nd, Category::no},
    {"Nd", "Decimal_Number", Category::nd, Category::nd},
    {"Nl", "Letter_Number", Category::nl, Category::nl},
    {"No", "Other_Number", Category::no, Category::no},
    {"P", "Punctuation", Category::pc, Category::po},
    {"Pc", "Connector_Punctuation", Category::pc, Category::pc},
    {"Pd", "Dash_Punctuation", Category::pd, Category::pd},
    {"Ps", "Open_Punctuation", Category::ps, Category::ps},
    {"Pe", "Close_Punctuation", Category::pe, Category::pe},
    {"Pi", "Initial_Punctuation", Category::pi, Category::pi},
    {"Pf", "Final_Punctuation", Category::pf, Category::pf},
    {"Po", "Other_Punctuation", Category::po, Category::po},
    {"S", "Symbol", Category::sm, Category::so},
    {"Sm", "Math_Symbol", Category::sm, Category::sm},
    {"Sc", "Currency_Symbol", Category::sc, Category::sc},
    {"Sk", "Modifier_Symbol", Category::sk, Category::sk},
    {"So", "Other_Symbol", Category::so, Category::so},
    {"Z", "Separator", Category::zs, Category::zp},
    {"Zs", "Space_Separator", Category::zs, Category::zs},
    {"Zl", "Line_Separator", Category::zl, Category::zl},
    {"Zp", "Paragraph_Separator", Category::zp, Category::zp},
    {"Cc", "Control", Category::cc, Category::cc},
    {"Cf", "Format", Category::cf, Category::cf},
};
constexpr const char* kScripts[] = {"Arabic",     "Armenian",  "Bengali",  "Bopomofo", "Cyrillic",
                                    "Devanagari", "Ethiopic",  "Georgian", "Greek",    "Gujarati",
                                    "Gurmukhi",   "Han",       "Hangul",   "Hebrew",   "Hiragana",
                                    "Kannada",    "Katakana",  "Khmer",    "Lao",      "Latin",
                                    "Malayalam",  "Mongolian", "Myanmar",  "Oriya",    "Sinhala",
                                    "Tamil",      "Telugu",    "Thai",     "Tibetan"};
constexpr const char* kSpaces =
    R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

std::string range(char32_t first, char32_t last) {
  return fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", std::uint32_t(first), std::uint32_t(last));
}

/// A set of characters in the form used inside a PCRE2 character class.
struct Set {
  std::string inside;
  bool negated = false;
};

std::string categories(const CategoryName& name) {
  std::string inside = fmt::format("\\p{{{}}}", name.brief);
  for (const auto& row : kChangedSince14) {
    if (row.category >= name.first && row.category <= name.last)
      inside += range(row.first, row.last);
  }
  return inside;
}

std::string categories(std::string_view brief) {
  return categories(*std::find_if(std::begin(kCategoryNames), std::end(kCategoryNames),
                                  [&](const auto& name) { return brief == name.brief; }));
}

/// Oniguruma's \w, which has letters, marks, decimal and letter numbers, connectors, letter-like
/// symbols and, unexpectedly, the other Latin-1 numbers.
std::string word_characters() {
  return categories("L") + categories("M") + categories("Nd") + categories("Nl") +
         categories("Pc") +
         R"(\xb2\xb3\xb9\xbc-\xbe\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
}

bool same_name(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view name) {
    std::string text;
    for (const char c : name) {
      if (c != '_' && c != ' ' && c != '-')
        text += char(std::tolower(static_cast<unsigned char>(c)));
    }
    return text;
  };
  return plain(a) == plain(b);
}

std::string property(const std::string& name) {
  for (const auto& known : kCategoryNames) {
    if (same_name(name, known.brief) || same_name(name, known.full)) return categories(known);
  }
  if (same_name(name, "White_Space") || same_name(name, "Space")) return kSpaces;
  for (const char* script : kScripts) {
    if (!same_name(name, script)) continue;
    const bool han = std::string_view(script) == "Han";
    return fmt::format("\\p{{sc:{}}}", script) +
           (han ? range(0x2EBF0, 0x2EE5D) + range(0x31350, 0x323AF) : "");
  }
  throw std::invalid_argument(fmt::format("the property \\p{{{}}}", name));
}

class Translator {
 public:
  explicit Translator(const std::string& source) : source_(source) {}

  std::string translate() {
    while (at_ < source_.size()) step();
    return out_;
  }

 private:
  static constexpr std::size_t kNone = std::string::npos;

  bool next_is(char c) const { return at_ < source_.size() && source_[at_] == c; }
  bool starts(std::string_view what) const {
    return std::string_view(source_).substr(at_).substr(0, what.size()) == what;
  }
  char take() {
    if (at_ >= source_.size()) throw std::invalid_argument("an expression that ends too early");
    return source_[at_++];
  }
  void atom(const std::string& text) { atom_ = out_.size(), out_ += text; }
  void take_character(std::string& to) {
    const std::size_t length = decode(source_, at_).length;
    to.append(source_, at_, length), at_ += length;
  }

  void step() {
    switch (source_[at_]) {
      case '\\': ++at_; return escape();
      case '[': ++at_; return atom(character_class());
      case '(': ++at_; return group();
      case ')':
        ++at_, out_ += ')';
        atom_ = groups_.empty() ? kNone : groups_.back();
        if (!groups_.empty()) groups_.pop_back();
        return;
      case '*':
      case '+':
      case '?': return quantifier();
      case '{': return interval();
      case '|':
      case '^':
      case '$': out_ += take(), atom_ = kNone; return;
      default: atom_ = out_.size(), take_character(out_);
    }
  }

  void group() {
    const bool at_start = out_.empty() || out_.back() == '(' || out_.back() == ':';
    groups_.push_back(out_.size()), atom_ = kNone;
    if (!next_is('?')) return void(out_ += '(');
    for (const char* opening : {"?:", "?=", "?!", "?>", "?<=", "?<!"}) {
      if (!starts(opening)) continue;
      at_ += std::string_view(opening).size();
      return void(out_.append("(").append(opening));
    }
    ++at_;
    if (next_is('<')) return void(out_ += "(?");  // a name follows
    std::string flags;
    while (at_ < source_.size() && source_[at_] != ':' && source_[at_] != ')') flags += take();
    if (flags.find_first_not_of("im-") != std::string::npos)
      throw std::invalid_argument(fmt::format("the group (?{}", flags));
    // Oniguruma's "multiline" is what PCRE2 calls "dot matches newline".
    std::replace(flags.begin(), flags.end(), 'm', 's');
    if (take() == ':') return void(out_.append("(?").append(flags).append(":"));
    if (!at_start) throw std::invalid_argument(fmt::format("the flags (?{}) in the middle", flags));
    out_.append("(?").append(flags).append(")");
    groups_.pop_back();
  }

  void quantifier() {
    out_ += take();
    if (next_is('?') || next_is('+')) out_ += take();
  }

  std::optional<int> number() {
    std::string digits;
    while (at_ < source_.size() && std::isdigit(static_cast<unsigned char>(source_[at_])) &&
           digits.size() < 6)
      digits += take();
    return digits.empty() ? std::nullopt : std::optional(std::stoi(digits));
  }

  void interval() {
    const std::size_t begin = at_++;
    const auto low = number();
    const bool comma = next_is(',');
    if (comma) ++at_;
    const auto high = comma ? number() : low;
    if (!next_is('}') || (!low && !high) || atom_ == kNone) {
      at_ = begin + 1;
      return atom("\\{");
    }
    ++at_;
    out_ += fmt::format("{{{}{}{}}}", low.value_or(0), comma ? "," : "",
                        high && comma ? std::to_string(*high) : "");
    if (next_is('+') || (next_is('?') && !comma)) {
      out_.insert(atom_, "(?:");
      out_ += ")";
      out_ += take();
    } else if (next_is('?')) {
      out_ += take();
    }
  }

  /// The set for \d, \w, \s, \h or \p{...} or for a complement, read after the backslash. Nothing
  /// for other escapes.
  std::optional<Set> set(char letter) {
    switch (letter) {
      case 'd':
      case 'D': return Set{categories("Nd"), letter == 'D'};
      case 'w':
      case 'W': return Set{word_characters(), letter == 'W'};
      case 's':
      case 'S': return Set{kSpaces, letter == 'S'};
      case 'h':
      case 'H': return Set{"0-9A-Fa-f", letter == 'H'};
      case 'p':
      case 'P': break;
      default: return std::nullopt;
    }
    const auto end = source_.find('}', at_);
    if (!next_is('{') || end == kNone)
      throw std::invalid_argument(fmt::format("\\{} without a name in braces", letter));
    std::string name = source_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    const bool inverse = !name.empty() && name[0] == '^';
    return Set{property(inverse ? name.substr(1) : name), (letter == 'P') != inverse};
  }

  /// The character for an escape with a number, or with a letter such as \n. Nothing for other
  /// escapes.
  std::optional<std::string> coded(char letter) {
    if (letter == 'v') return "\\x0b";
    if (letter == 't' || letter == 'n' || letter == 'r' || letter == 'f' || letter == 'e' ||
        letter == 'a')
      return std::string("\\") + letter;
    if (letter != 'x' && letter != 'u') return std::nullopt;
    std::string digits;
    const bool braced = letter == 'x' && next_is('{');
    if (braced) ++at_;
    const std::size_t limit = braced ? 6 : letter == 'x' ? 2 : 4;
    while (digits.size() < limit && at_ < source_.size() &&
           std::isxdigit(static_cast<unsigned char>(source_[at_])))
      digits += take();
    if (digits.empty() || (braced && take() != '}') || (letter == 'u' && digits.size() != 4))
      throw std::invalid_argument(fmt::format("\\{} without its digits", letter));
    if (letter == 'x' && !braced && std::stoul(digits, nullptr, 16) > 0x7F)
      throw std::invalid_argument("a single byte above \\x7f");
    return fmt::format("\\x{{{}}}", digits);
  }

  void escape() {
    const char letter = take();
    if (const auto known = set(letter))
      return atom(fmt::format("[{}{}]", known->negated ? "^" : "", known->inside));
    if (const auto code = coded(letter)) return atom(*code);
    const std::string word = fmt::format("[{}]", word_characters());
    switch (letter) {
      case 'b':
        atom_ = kNone;
        return void(out_ += fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word));
      case 'B':
        atom_ = kNone;
        return void(out_ += fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word));
      case 'A':
      case 'z':
      case 'Z':
      case 'G': atom_ = kNone; return void(out_ += std::string("\\") + letter);
      case 'R': return atom("\\R");
      case 'N': return atom("\\N");
      case 'O': return atom("(?s:.)");
      default: break;
    }
    if (std::isalnum(static_cast<unsigned char>(letter)) && !(letter >= '1' && letter <= '9'))
      throw std::invalid_argument(fmt::format("the escape \\{}", letter));
    if (static_cast<unsigned char>(letter) < 0x80) return atom(std::string("\\") + letter);
    --at_, atom_ = out_.size(), take_character(out_);
  }

  /// A class of characters, read after its "[" up to its "]".
  std::string character_class() {
    std::string text = "[";
    if (next_is('^')) text += take();
    if (next_is(']')) ++at_, text += "\\]";
    while (!next_is(']')) {
      if (starts("[:")) {
        text += posix();
      } else if (starts("[") || starts("&&")) {
        throw std::invalid_argument(starts("[") ? "a class inside a class"
                                                : "the intersection && of classes");
      } else if (next_is('\\')) {
        ++at_;
        text += escape_in_class();
      } else if (at_ < source_.size()) {
        take_character(text);
      } else {
        throw std::invalid_argument("a class without its ]");
      }
    }
    ++at_;
    return text + "]";
  }

  std::string escape_in_class() {
    const char letter = take();
    if (const auto known = set(letter)) {
      if (!known->negated) return known->inside;
      if (letter == 'S')
        return R"(\x00-\x08\x0e-\x1f!-\x84\x86-\x9f\xa1-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
      throw std::invalid_argument(fmt::format("the complement \\{} inside a class", letter));
    }
    if (letter == 'b') return "\\x08";
    if (const auto code = coded(letter)) return *code;
    if (std::isalnum(static_cast<unsigned char>(letter)))
      throw std::invalid_argument(fmt::format("the escape \\{} inside a class", letter));
    if (static_cast<unsigned char>(letter) < 0x80) return std::string("\\") + letter;
    std::string text;
    --at_, take_character(text);
    return text;
  }

  std::string posix() {
    const auto end = source_.find(":]", at_);
    const std::string name = end == kNone ? "" : source_.substr(at_ + 2, end - at_ - 2);
    at_ += name.size() + 4;
    if (name == "space") return kSpaces;
    if (name == "digit") return categories("Nd");
    if (name == "punct") return categories("P") + categories("S");
    if (!name.empty()) throw std::invalid_argument("the class [:" + name + ":]");
    throw std::invalid_argument("[: without :]");
  }

  const std::string& source_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t atom_ = kNone;  // byte of out_ at which the last atom begins; kNone if there is none
  std::vector<std::size_t> groups_;  // bytes of out_ at which the open groups begin
};

}  // namespace

std::string to_pcre2(const std::string& oniguruma) { return Translator(oniguruma).translate(); }

}  // namespace rollcall::text::json_tokenizer
