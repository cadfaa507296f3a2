// The table of units.
#include "reward/math/units.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace rollcall::reward::math {
namespace {

struct Row {
  std::string_view names;  // between spaces
  const char* dimension;
  long numerator, denominator;  // of the factor; exact by definition (SI; international yard and pound agreement, 1959)
};

constexpr Row kRows[] = {
    {" mm millimeter millimetre ", "length", 1, 1000},
    {" cm centimeter centimetre ", "length", 1, 100},
    {" dm decimeter ", "length", 1, 10},
    {" m meter metre ", "length", 1, 1},
    {" km kilometer kilometre ", "length", 1000, 1},
    {" in inch inches ", "length", 254, 10000},
    {" ft foot feet ", "length", 3048, 10000},
    {" yd yard ", "length", 9144, 10000},
    {" mi mile ", "length", 1609344, 1000},
    {" mg milligram ", "mass", 1, 1000000},
    {" g gram ", "mass", 1, 1000},
    {" kg kilogram ", "mass", 1, 1},
    {" lb pound ", "mass", 45359237, 100000000},
    {" oz ounce ", "mass", 28349523125, 1000000000000},
    {" ms millisecond ", "time", 1, 1000},
    {" s sec second ", "time", 1, 1},
    {" min minute ", "time", 60, 1},
    {" h hr hour ", "time", 3600, 1},
    {" day ", "time", 86400, 1},
    {" week ", "time", 604800, 1},
    {" month ", "month", 1, 1},
    {" year yr ", "month", 12, 1},
    {" ml milliliter millilitre ", "volume", 1, 1000},
    {" l liter litre ", "volume", 1, 1},
    {" gallon gal ", "gallon", 1, 1},
    {" quart ", "gallon", 1, 4},
    {" dollar usd ", "money", 1, 1},
    {" cent ", "money", 1, 100},
    {" euro ", "euros", 1, 1},
    {" yen ", "yens", 1, 1},
    {" j joule ", "energy", 1, 1},
    {" n newton ", "force", 1, 1},
    {" w watt ", "power", 1, 1},
    {" kw kilowatt ", "power", 1000, 1},
    {" v volt ", "voltage", 1, 1},
    {" k kelvin ", "temperature", 1, 1},
    {" hz hertz ", "frequency", 1, 1},
    {" pa pascal ", "pressure", 1, 1},
    {" ohm ", "resistance", 1, 1},
    {" amp ampere ", "current", 1, 1},
    {" unit ", "unit", 1, 1},
    {" celsius ", "celsius", 1, 1},
    {" fahrenheit ", "fahrenheit", 1, 1},
    {" am ", "before noon", 1, 1},
    {" pm ", "after noon", 1, 1},
};

/// Things that are counted; in the plural they end in s unless the table says otherwise.
constexpr std::string_view kCounted =
    " apple orange banana egg cookie cake pie pizza slice piece cup bottle box boxes bag book page pencil pen card coin ticket toy ball marble block tile "
    "student teacher child children boy girl man men woman women person people friend player team game class classes school house room car bus buses bike train "
    "truck boat plane animal dog cat bird fish chicken cow horse sheep rabbit tree flower plant seed leaf leaves shirt dress dresses shoe pair hat sock ribbon "
    "bead stamp sticker photo picture song letter word line point side edge face vertex vertices angle triangle square rectangle circle diagonal digit integer "
    "number root solution way step time trip lap mark question problem test vote member worker employee customer guest visitor passenger seat chair table row "
    "column group item object thing part share stick stone rock bolt nail jar can pack packet package basket bucket glass glasses plate bowl spoon candle "
    "candy candies sandwich sandwiches burger cupcake muffin donut crayon marker eraser notebook magazine newspaper newspapers story stories path subset "
    "permutation combination arrangement sequence function value ";

std::string normal(std::string_view words) {
  std::string text;
  for (const char c : words)
    if (!(c == ' ' && (text.empty() || text.back() == ' ')) && c != '.') text += char(std::tolower(static_cast<unsigned char>(c)));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  for (const std::string_view article : {"of the ", "of a ", "of an ", "of "})  // three quarters of a cup
    if (text.starts_with(article)) text.erase(0, article.size());
  return text;
}

std::optional<Unit> simple(std::string_view word) {
  for (const std::size_t cut : {std::size_t(0), std::size_t(1)}) {  // plural
    if (cut == 1 && (word.size() < 3 || word.back() != 's')) break;
    const std::string stem(word.substr(0, word.size() - cut)), key = ' ' + stem + ' ';
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.names.find(key) != std::string_view::npos; });
    if (row != std::end(kRows)) {
      mpq_class factor(row->numerator, row->denominator);
      factor.canonicalize();
      return Unit{{{row->dimension, 1}}, factor};
    }
    if (kCounted.find(key) != std::string_view::npos) return Unit{{{"count of " + stem, 1}}, 1};
  }
  return std::nullopt;
}

/// The power behind a name, which loses it: m^2, s^{-1}.
int take_power(std::string& name) {
  const std::size_t caret = name.find('^');
  if (caret == std::string::npos) return 1;
  const std::string digits = name.substr(caret + 1);
  name.resize(caret);
  int power = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), power);
  return error == std::errc{} && end == digits.data() + digits.size() && std::abs(power) < 10 ? power : 0;
}

}  // namespace

Unit Unit::raised(int power) const {
  Unit result;
  for (const auto& [name, own] : powers) result.powers[name] = own * power;
  for (int n = 0; n < std::abs(power); ++n) result.factor *= factor;
  if (power < 0) result.factor = 1 / result.factor;
  return result;
}

Unit Unit::times(const Unit& other) const {
  Unit result{powers, factor * other.factor};
  for (const auto& [name, power] : other.powers) {
    result.powers[name] += power;
    if (result.powers[name] == 0) result.powers.erase(name);
  }
  return result;
}

std::string Unit::dimension() const {
  std::string above, below;
  for (const auto& [name, power] : powers) {
    std::string& to = power > 0 ? above : below;
    to += (power > 0 ? (above.empty() ? "" : " ") : "/") + name + (std::abs(power) > 1 ? '^' + std::to_string(std::abs(power)) : "");
  }
  return above + below;
}

std::optional<Unit> find_unit(std::string_view words) {
  std::string text = normal(words);
  for (const auto& [name, meaning] : {std::pair("mph", "mi/h"), {"kmh", "km/h"}, {"kph", "km/h"}})
    if (text == name) text = meaning;
  Unit all;
  bool below = false;
  int next_power = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" /", at), text.size());
    std::string name = text.substr(at, end - at);
    at = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
    if (name == "per" || (name.empty() && end < text.size() && text[end] == '/')) {
      if (below) return std::nullopt;
      below = true;
      at += name.empty() ? 1 : 0;
    } else if (name == "square" || name == "cubic" || name == "sq") {
      next_power = name == "cubic" ? 3 : 2;
      if (at >= text.size()) return simple(name);
    } else {
      const int power = take_power(name) * next_power;
      const auto unit = simple(name);
      if (!unit || power == 0) return std::nullopt;
      all = all.times(unit->raised(below ? -power : power));
      next_power = 1;
    }
  }
  return text.empty() ? std::nullopt : std::optional(all);
}

std::optional<mpq_class> find_multiplier(std::string_view word) {
  constexpr std::pair<std::string_view, const char*> kMultipliers[] = {
      {"hundred", "100"}, {"thousand", "1000"}, {"million", "1000000"}, {"billion", "1000000000"}, {"trillion", "1000000000000"},
      {"dozen", "12"},    {"half", "1/2"},      {"halves", "1/2"},      {"third", "1/3"},          {"thirds", "1/3"},
      {"quarter", "1/4"}, {"quarters", "1/4"},  {"fourths", "1/4"},     {"fifths", "1/5"},         {"tenths", "1/10"}};
  for (const auto& [name, value] : kMultipliers)
    if (name == word) return mpq_class(value);
  return std::nullopt;
}

std::optional<int> find_number(std::string_view words) {
  constexpr std::string_view kSmall[] = {"zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
                                         "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  constexpr std::string_view kTens[] = {"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
  const auto place = [](const auto& names, std::string_view name) {
    const auto at = std::find(std::begin(names), std::end(names), name);
    return at == std::end(names) ? std::nullopt : std::optional(int(at - std::begin(names)));
  };
  const std::string text = normal(words);
  if (const auto small = place(kSmall, text)) return small;
  const std::size_t cut = std::min(text.find_first_of("- "), text.size());
  const auto tens = place(kTens, std::string_view(text).substr(0, cut));
  if (!tens || cut == text.size()) return tens ? std::optional(20 + 10 * *tens) : std::nullopt;
  const auto ones = place(kSmall, std::string_view(text).substr(cut + 1));
  return ones && *ones > 0 && *ones < 10 ? std::optional(20 + 10 * *tens + *ones) : std::nullopt;
}

}  // namespace rollcall::reward::math
