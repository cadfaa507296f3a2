// Reads units: words and symbols with prefixes and powers, above and below a line.
#include "reward/math/parser/units.hpp"

#include "reward/math/parser/numerals.hpp"
#include "reward/math/parser/unit_table.hpp"
#include "text/conclusion/prose.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <unordered_map>
#include <vector>

namespace rollcall::reward::math {
namespace {

/// Words that change the meaning of a value, so that no unit or counted thing may contain them.
constexpr std::string_view kChanging[] = {
    "plus",    "minus",      "less",     "than",      "over",       "under", "above",  "below",
    "divided", "multiplied", "by",       "not",       "no",         "non",   "except", "but",
    "if",      "unless",     "or",       "either",    "nor",        "is",    "are",    "was",
    "were",    "isn't",      "wrong",    "false",     "unknown",    "least", "most",   "maybe",
    "perhaps", "possibly",   "probably", "incorrect", "remainder",  "root",  "power",  "percent",
    "mod",     "modulo",     "infinity", "without",   "factorial",  "never", "cannot", "can't",
    "don't",   "won't",      "aren't",   "wasn't",    "impossible", "fewer", "short",  "shy",
    "debt"};
constexpr std::string_view kFillers[] = {"a",     "an",         "the", "of",      "and",  "to",
                                         "from",  "for",        "at",  "on",      "with", "such",
                                         "total", "altogether", "all", "exactly", "only", "about"};

using Entries = std::unordered_map<std::string, Unit>;

/// Units by their spellings, with every prefix that they take.
struct Table {
  Entries symbols, names;
};

const Unit* entry(const Entries& entries, std::string_view name) {
  const auto row = entries.find(std::string(name));
  return row == entries.end() ? nullptr : &row->second;
}

/// Finds a symbol as it is written, a name in any case and with or without a plural s, or a symbol
/// in lower case.
const Unit* single(const Table& table, std::string_view word) {
  if (const Unit* unit = entry(table.symbols, word)) return unit;
  const std::string lower = text::lower(word);
  if (const Unit* unit = entry(table.names, lower)) return unit;
  if (lower.size() > 3 && lower.back() == 's')
    if (const Unit* unit = entry(table.names, std::string_view(lower).substr(0, lower.size() - 1)))
      return unit;
  return lower == word ? nullptr : entry(table.symbols, lower);
}

/// The part of a counted thing's name that its forms share: goat for goats, bo for box and boxes,
/// stor for stories.
std::string stem_of(std::string word) {
  constexpr std::pair<std::string_view, std::string_view> kIrregular[] = {
      {"men", "man"},       {"women", "woman"}, {"children", "child"},
      {"people", "person"}, {"mice", "mouse"},  {"geese", "goose"}};
  for (const auto& [plural, one] : kIrregular)
    if (word == plural) return stem_of(std::string(one));
  for (const std::string_view ending : {"ies", "ie", "es", "s", "y", "e"}) {
    if (!word.ends_with(ending) || word.size() < ending.size() + 3 ||
        (ending == "s" && word.ends_with("ss")))
      continue;
    word.resize(word.size() - ending.size());
    break;
  }
  return word;
}

/// A unit as plain text: "kg \cdot m/s^{2}" without TeX.
std::string plain(std::string_view words) {
  constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {{"\\cdot", " "},
                                                                          {"\\times", " "},
                                                                          {"\\textmu", "µ"},
                                                                          {"\\upmu", "µ"},
                                                                          {"\\micro", "µ"},
                                                                          {"^{\\circ}", "°"},
                                                                          {"\\text", ""},
                                                                          {"\\mathrm", ""},
                                                                          {"\\rm", ""},
                                                                          {"\\mu", "µ"},
                                                                          {"\\Omega", "Ω"},
                                                                          {"\\degree", "°"},
                                                                          {"^\\circ", "°"},
                                                                          {"\\,", " "},
                                                                          {"\\ ", " "},
                                                                          {"\\;", " "},
                                                                          {"\\:", " "},
                                                                          {"\\!", ""},
                                                                          {"\\%", "percent"},
                                                                          {"⋅", " "},
                                                                          {"·", " "},
                                                                          {"×", " "},
                                                                          {"\xE2\x88\x92", "-"},
                                                                          {"~", " "},
                                                                          {"*", " "},
                                                                          {"$", ""},
                                                                          {"{", ""},
                                                                          {"}", ""},
                                                                          {".", ""},
                                                                          {",", " "}};
  std::string text;
  while (!words.empty()) {
    if (std::isalnum(static_cast<unsigned char>(words[0])) != 0 || words[0] == ' ') {
      text += words[0];
      words.remove_prefix(1);
      continue;
    }
    const auto row = std::find_if(std::begin(kSpellings), std::end(kSpellings),
                                  [&](const auto& s) { return words.starts_with(s.first); });
    const bool is_known = row != std::end(kSpellings);
    if (is_known) text += row->second;
    else text += words[0];
    words.remove_prefix(is_known ? row->first.size() : 1);
    // The sign is part of the unit's symbol that follows.
    const bool joins = is_known && (row->second == "µ" || row->second == "°");
    while (joins && words.starts_with(' ')) words.remove_prefix(1);
  }
  return text;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  return text.empty() ? std::vector<std::string_view>{} : text::split(text, " ");
}

/// Reads the units of one text.
class UnitReader {
 public:
  UnitReader(const Table& table, std::string_view words) : table_(table), text_(plain(words)) {}

  std::optional<Unit> all() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/') is_below_ = true, ++at_;
      else if (c == ' ' || c == '-' || c == '(') ++at_;
      else if (c == ')' && text_.substr(at_ + 1, 1) != "^") ++at_;
      else if (!take_word()) return std::nullopt;
    }
    if (next_power_ != 1) return std::nullopt;
    if (factors_ > 1 || is_below_) unit_.offset = 0;
    return unit_;
  }

 private:
  static bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 ||
           static_cast<unsigned char>(c) >= 0x80 || c == '\'';
  }

  std::string_view word_at(std::size_t at) const {
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '-')) ++at;
    std::size_t end = at;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    return std::string_view(text_).substr(at, end - at);
  }

  /// The power after a word: ^2, ^-1, and the digit of cm2. 1 if there is none, 0 for an invalid
  /// one.
  int power() {
    const bool has_caret = at_ < text_.size() && text_[at_] == '^';
    if (has_caret) ++at_;
    const bool is_negative = has_caret && at_ < text_.size() && text_[at_] == '-';
    if (is_negative) ++at_;
    const bool is_digit =
        at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
    if (!is_digit) return has_caret ? 0 : 1;
    const int value = text_[at_++] - '0';
    if (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_])) != 0) return 0;
    return is_negative ? -value : value;
  }

  void add(const Unit& unit, int power) {
    last_ = unit.raised(is_below_ ? -power : power);
    unit_ = factors_++ == 0 && power == 1 && !is_below_ ? unit : unit_.times(last_);
  }

  /// Two words that form one unit; empty for other words.
  std::string_view compound(std::string_view first, std::string_view second) const {
    constexpr std::array<std::string_view, 3> kRows[] = {
        {"fluid", "ounce", "floz"}, {"fl", "oz", "floz"},    {"nautical", "mile", "nmi"},
        {"metric", "ton", "t"},     {"light", "year", "ly"}, {"fl", "ounce", "floz"}};
    for (const auto& [left, right, unit] : kRows)
      if (first == left && (second == right || second == std::string(right) + "s")) return unit;
    return {};
  }

  /// Whether a word is a prefix of the unit after it: kilo metres, mega-watts, k Ω.
  bool is_prefix_of(const std::string& word, std::string_view unit) const {
    if (unit.empty() || !single(table_, word + std::string(unit))) return false;
    return std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](const PrefixRow& prefix) {
      const auto symbols = parts_of(prefix.symbols);
      const bool is_symbol =
          std::find(symbols.begin(), symbols.end(), word) != symbols.end() && !single(table_, word);
      return is_symbol || text::lower(word) == prefix.name;
    });
  }

  bool take_word() {
    std::string word(word_at(at_));
    if (word.empty()) return false;
    at_ += word.size();
    if (const std::string_view unit = word_at(at_); is_prefix_of(word, unit)) {
      at_ = std::size_t(unit.data() - text_.data()) + unit.size();
      word += unit;
    }
    // The word is the prefix of an unknown unit, and not a counted thing.
    if (word == "µ" || word == "μ") return false;
    const std::string lower = text::lower(word);
    const std::string_view next = word_at(at_);
    if (lower == "per") return is_below_ = true;
    if ((lower == "square" || lower == "sq" || lower == "cubic" || lower == "cu") && !next.empty())
      return next_power_ = lower[0] == 's' ? 2 : 3, true;
    if ((lower == "squared" || lower == "cubed") && factors_ > 0) {
      for (int n = lower == "squared" ? 1 : 2; n > 0; --n) unit_ = unit_.times(last_);
      return true;
    }
    if (const std::string_view unit = compound(lower, text::lower(next)); !unit.empty()) {
      at_ = std::size_t(next.data() - text_.data()) + next.size();
      return add(*single(table_, unit), 1), true;
    }
    if (lower == "mod") return take_modulus();
    const bool is_preposition =
        lower == "in" && !next.empty() && !single(table_, next) && next != "per";
    if (is_preposition || (word != "A" && std::find(std::begin(kFillers), std::end(kFillers),
                                                    lower) != std::end(kFillers)))
      return true;
    if (std::find(std::begin(kChanging), std::end(kChanging), lower) != std::end(kChanging))
      return false;
    const int power = this->power() * std::exchange(next_power_, 1);
    if (power == 0) return false;
    if (const Unit* unit = single(table_, word)) return add(*unit, power), true;
    if (numeral_at(lower)) return false;
    Unit thing;
    thing.counted[stem_of(lower)] = 1;
    return add(thing, power), true;
  }

  /// Takes the modulus of 5 (mod 7), and returns whether there was one. It is like a unit: 5 (mod
  /// 7) is not comparable with 5 (mod 8).
  bool take_modulus() {
    const std::size_t begin = std::min(text_.find_first_not_of(' ', at_), text_.size()),
                      end = std::min(text_.find_first_not_of("0123456789", begin), text_.size());
    Unit residue;
    residue.counted["modulo " + text_.substr(begin, end - begin)] = 1;
    at_ = end;
    return end > begin ? (add(residue, 1), true) : false;
  }

  const Table& table_;
  std::string text_;
  std::size_t at_ = 0;
  int next_power_ = 1, factors_ = 0;
  bool is_below_ = false;
  Unit unit_, last_;
};

Unit scaled(Unit unit, int exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, unsigned(std::abs(exponent)));
  if (exponent > 0) unit.factor *= power;
  else unit.factor /= power;
  return unit;
}

/// Adds a unit under its own names, which win over names made from a prefix and another unit: min,
/// pm.
void add(Table& all, const UnitRow& row, const Unit& unit) {
  for (const std::string_view symbol : parts_of(row.symbols))
    all.symbols.insert_or_assign(std::string(symbol), unit);
  for (const std::string_view name : parts_of(row.names))
    all.names.insert_or_assign(std::string(name), unit);
  if (row.prefixes == Prefixes::none) return;
  for (const PrefixRow& prefix : kPrefixes) {
    const Unit multiple = scaled(unit, prefix.exponent);
    for (const std::string_view mark : parts_of(prefix.symbols))
      for (const std::string_view symbol : parts_of(row.symbols))
        all.symbols.emplace(std::string(mark).append(symbol), multiple);
    for (const std::string_view name : parts_of(row.names))
      all.names.emplace(std::string(prefix.name).append(name), multiple);
  }
}

const Table& table() {
  static const Table made = [] {
    Table all;
    for (const UnitRow& row : kUnits) {
      const bool is_base = row.base.starts_with('=');
      Unit unit = is_base ? Unit{{{std::string(row.base.substr(1)), 1}}}
                          : UnitReader(all, row.base).all().value();
      mpq_class factor(row.factor), offset(row.offset);
      factor.canonicalize(), offset.canonicalize();
      unit.factor *= factor, unit.offset = offset;
      add(all, row, unit);
    }
    return all;
  }();
  return made;
}

void multiply(std::map<std::string, int>& powers, const std::map<std::string, int>& by) {
  for (const auto& [name, power] : by)
    if ((powers[name] += power) == 0) powers.erase(name);
}

}  // namespace

Unit Unit::raised(int power) const {
  Unit result;
  for (const auto& [name, own] : powers) result.powers[name] = own * power;
  for (const auto& [name, own] : counted) result.counted[name] = own * power;
  for (int n = 0; n < std::abs(power); ++n) result.factor *= factor;
  if (power < 0) result.factor = 1 / result.factor;
  return result;
}

Unit Unit::times(const Unit& other) const {
  Unit result{powers, counted, factor * other.factor};
  multiply(result.powers, other.powers);
  multiply(result.counted, other.counted);
  return result;
}

std::string Unit::dimension() const {
  std::string above, below;
  for (const auto* map : {&powers, &counted})
    for (const auto& [name, power] : *map) {
      std::string& to = power > 0 ? above : below;
      to += (power > 0 ? (above.empty() ? "" : " ") : "/") + name +
            (std::abs(power) > 1 ? '^' + std::to_string(std::abs(power)) : "");
    }
  return above + below;
}

std::optional<Unit> find_unit(std::string_view words) { return UnitReader(table(), words).all(); }

bool is_unit(std::string_view word) { return single(table(), word) != nullptr; }

bool may_count_the_same(const Unit& a, const Unit& b) {
  const bool is_first_longer = a.counted.size() > b.counted.size();
  const auto &some = is_first_longer ? b.counted : a.counted,
             &more = is_first_longer ? a.counted : b.counted;
  return std::all_of(some.begin(), some.end(), [&](const auto& thing) {
    const auto row = more.find(thing.first);
    return row != more.end() && row->second == thing.second;
  });
}

}  // namespace rollcall::reward::math
