// Reads numbers in words from left to right, looking one word ahead.
#include "reward/math/parser/numerals.hpp"

#include "text/conclusion/prose.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <unordered_map>
#include <vector>

namespace rollcall::reward::math {
namespace {

enum class Role {
  one,  ///< zero to nineteen
  ten,  ///< twenty to ninety
  hundred,
  scale,    ///< thousand and above
  times,    ///< dozen, pair, gross: multiplies the number before it
  part,     ///< half, thirds: divides
  ordinal,  ///< third, fifth: a part only after "one" or "a"; elsewhere it is not a number
  article,  ///< a, an
  minus,
  point,  ///< decimal; its digits follow as words
  link    ///< and
};

struct Word {
  Role role;
  mpq_class value;
  bool is_alone = true;  ///< whether it is a number without a count before it: "dozen", but not
                         ///< "score"
};

using Words = std::unordered_map<std::string, Word>;

const Words& words() {
  static const Words all = [] {
    Words made;
    constexpr std::array kOnes = {"zero",    "one",     "two",       "three",    "four",
                                  "five",    "six",     "seven",     "eight",    "nine",
                                  "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                  "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    constexpr std::array kTens = {"twenty", "thirty",  "forty",  "fifty",
                                  "sixty",  "seventy", "eighty", "ninety"};
    constexpr std::array kOrdinals = {"third",  "fourth", "fifth", "sixth",    "seventh",
                                      "eighth", "ninth",  "tenth", "eleventh", "twelfth"};
    constexpr std::array kScales = {"thousand", "million", "billion", "trillion", "quadrillion"};
    for (std::size_t n = 0; n < kOnes.size(); ++n)
      made[kOnes[n]] = {Role::one, mpq_class(static_cast<unsigned long>(n))};
    for (std::size_t n = 0; n < kTens.size(); ++n)
      made[kTens[n]] = {Role::ten, mpq_class(static_cast<unsigned long>(20 + 10 * n))};
    const auto add_part = [&](const std::string& name, unsigned long below) {
      made[name] = {Role::ordinal, mpq_class(1, below)};
      made[name + "s"] = {Role::part, mpq_class(1, below)};
    };
    for (std::size_t n = 0; n < kOrdinals.size(); ++n)
      add_part(kOrdinals[n], static_cast<unsigned long>(3 + n));
    for (const auto& [name, below] : {std::pair("twentieth", 20UL),
                                      {"hundredth", 100UL},
                                      {"thousandth", 1000UL},
                                      {"millionth", 1000000UL}})
      add_part(name, below);
    for (const auto& [name, below] :
         {std::pair("half", 2UL), {"halves", 2UL}, {"quarter", 4UL}, {"quarters", 4UL}})
      made[name] = {Role::part, mpq_class(1, below)};
    made["hundred"] = made["hundreds"] = {Role::hundred, 100};
    mpq_class size = 1;
    for (const char* name : kScales)
      size *= 1000, made[name] = {Role::scale, size},
                    made[std::string(name) + "s"] = {Role::scale, size};
    made["dozen"] = made["dozens"] = {Role::times, 12};
    made["pair"] = made["pairs"] = {Role::times, 2};
    for (const auto& [name, count] : {std::pair("couple", 2UL),
                                      {"trio", 3UL},
                                      {"triple", 3UL},
                                      {"score", 20UL},
                                      {"gross", 144UL}})
      made[name] = made[std::string(name) + "s"] = {Role::times, mpq_class(count), false};
    made["a"] = made["an"] = {Role::article, 1};
    made["minus"] = made["negative"] = {Role::minus, -1};
    made["and"] = {Role::link, 0};
    made["point"] = {Role::point, 0};
    return made;
  }();
  return all;
}

struct Place {
  const Word* word = nullptr;
  std::size_t end = 0;  ///< end of the word in the text, in bytes
};

/// The words at the beginning of the text, separated by single spaces or hyphens, up to the first
/// word that is not part of a number.
std::vector<Place> places(std::string_view text) {
  std::vector<Place> all;
  constexpr std::size_t kMost = 24;
  for (std::size_t at = 0; at < text.size() && all.size() < kMost;) {
    std::size_t end = at;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
    const auto row =
        end - at > 11 ? words().end() : words().find(text::lower(text.substr(at, end - at)));
    if (row == words().end()) break;
    all.push_back({&row->second, end});
    if (end >= text.size() || (text[end] != ' ' && text[end] != '-')) break;
    at = end + 1;
    while (at < text.size() && text[at] == ' ') ++at;
  }
  return all;
}

class Reader {
 public:
  explicit Reader(std::vector<Place> places) : places_(std::move(places)) {}

  std::optional<Numeral> number() {
    const bool is_negative = take(Role::minus) != nullptr;
    auto value = unsigned_number();
    if (!value) return std::nullopt;
    return Numeral{is_negative ? mpq_class(-*value) : *value, places_[at_ - 1].end};
  }

 private:
  const Word* peek(std::size_t ahead = 0) const {
    return at_ + ahead < places_.size() ? places_[at_ + ahead].word : nullptr;
  }
  bool is(Role role, std::size_t ahead = 0) const {
    return peek(ahead) != nullptr && peek(ahead)->role == role;
  }
  const Word* take(Role role) { return is(role) ? places_[at_++].word : nullptr; }

  /// Reads "half", "a half", "one third", "three quarters"; takes nothing if there is no fraction.
  std::optional<mpq_class> fraction() {
    const std::size_t start = at_;
    const bool has_article = take(Role::article) != nullptr;
    const Word* count = has_article ? nullptr : take(Role::one);
    const bool is_one = has_article || (count != nullptr && count->value == 1);
    const Word* part = take(Role::part);
    if (part == nullptr && is_one) part = take(Role::ordinal);
    const bool is_bare = count == nullptr && !has_article;
    if (part != nullptr && !(is_bare && part->value < mpq_class(1, 4)))
      return mpq_class((count != nullptr ? count->value : mpq_class(1)) * part->value);
    at_ = start;
    return std::nullopt;
  }

  std::optional<mpq_class> unsigned_number() {
    if (auto part = fraction()) {
      take(Role::article);  // half a million
      if (is(Role::times) || is(Role::scale) || is(Role::hundred))
        return mpq_class(*part * places_[at_++].word->value);
      if (at_ > 0 && places_[at_ - 1].word->role == Role::article) --at_;
      return part;
    }
    if (is(Role::article) && !(is(Role::hundred, 1) || is(Role::scale, 1) || is(Role::times, 1)))
      return std::nullopt;
    const bool has_article = take(Role::article) != nullptr;
    auto whole = cardinal(has_article);
    if (!whole) return std::nullopt;
    if (is(Role::point) && is(Role::one, 1) && peek(1)->value < 10) {
      ++at_;
      for (mpq_class place(1, 10); is(Role::one) && peek()->value < 10; place /= 10)
        *whole += place * places_[at_++].word->value;
    }
    if (is(Role::link)) {  // two and a half
      const std::size_t before = at_++;
      if (const auto part = fraction()) return mpq_class(*whole + *part);
      at_ = before;
    }
    while (const Word* times = take(Role::times)) *whole *= times->value;
    return whole;
  }

  /// Reads a number below a thousand, with "and" after the hundreds.
  std::optional<mpq_class> group(bool has_article) {
    const std::size_t start = at_;
    mpq_class value = has_article ? 1 : 0;
    const auto below_hundred = [&]() -> std::optional<mpq_class> {
      if (const Word* ten = take(Role::ten)) {
        const bool has_one = is(Role::one) && peek()->value > 0 && peek()->value < 10;
        return has_one ? mpq_class(ten->value + places_[at_++].word->value) : ten->value;
      }
      const Word* one = take(Role::one);
      return one != nullptr ? std::optional(one->value) : std::nullopt;
    };
    if (!has_article)
      if (const auto first = below_hundred()) value = *first;
    if (take(Role::hundred) != nullptr) {
      value = (value == 0 ? mpq_class(1) : value) * 100;
      const std::size_t before = at_;
      take(Role::link);
      if (const auto rest = below_hundred()) value += *rest;
      else at_ = before;
    }
    return at_ > start || has_article ? std::optional(value) : std::nullopt;
  }

  std::optional<mpq_class> cardinal(bool has_article) {
    mpq_class total = 0, last_scale = 0;
    bool is_any = false;
    for (;;) {
      const std::size_t before = at_;
      if (is_any) take(Role::link);
      auto part = group(has_article && !is_any);
      // "thousand"
      if (!part && !is_any && (is(Role::scale) || (is(Role::times) && peek()->is_alone))) part = 1;
      const Word* scale = part && is(Role::scale) ? peek() : nullptr;
      if (!part || (is_any && last_scale == 0) ||
          (scale != nullptr && last_scale != 0 && scale->value >= last_scale)) {
        at_ = before;
        break;
      }
      is_any = true;
      if (scale != nullptr) ++at_;
      total += *part * (scale != nullptr ? scale->value : mpq_class(1));
      last_scale = scale != nullptr ? scale->value : mpq_class(0);
      if (scale == nullptr) break;
    }
    return is_any ? std::optional(total) : std::nullopt;
  }

  std::vector<Place> places_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Numeral> numeral_at(std::string_view text) {
  auto all = places(text);
  return all.empty() ? std::nullopt : Reader(std::move(all)).number();
}

std::optional<mpq_class> find_numeral(std::string_view text) {
  while (text.ends_with(' ') || text.ends_with('.')) text.remove_suffix(1);
  const auto numeral = numeral_at(text);
  return numeral && numeral->size == text.size() ? std::optional(numeral->value) : std::nullopt;
}

std::optional<mpq_class> find_multiplier(std::string_view word) {
  const auto row = words().find(std::string(word));
  if (row == words().end() || row->second.role < Role::hundred || row->second.role > Role::ordinal)
    return std::nullopt;
  return row->second.value;
}

}  // namespace rollcall::reward::math
