// Quantities to be converted; every factor is exact.
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace rollcall::task {
namespace {

struct Unit {
  const char* dimension;
  int level;                            ///< the lowest level at which it is used
  std::vector<const char*> spellings;   ///< symbol, then names
  std::int64_t numerator, denominator;  ///< size in the base unit, as a fraction
  std::int64_t offset_hundredths = 0;   ///< for temperatures: added to a value before the factor
};

/// Factors are from the SI brochure, 9th edition, tables 2, 7 and 8, and from NIST SP 811 (2008),
/// appendix B.8, where all that are used here are exact.
const std::vector<Unit>& units() {
  static const std::vector<Unit> rows = {
      {"length", 1, {"m", "metre", "metres", "meter", "meters"}, 1, 1},
      {"length", 1, {"km", "kilometre", "kilometres", "kilometer", "kilometers"}, 1000, 1},
      {"length", 1, {"cm", "centimetre", "centimetres", "centimeter", "centimeters"}, 1, 100},
      {"length", 2, {"mm", "millimetre", "millimetres", "millimeter", "millimeters"}, 1, 1000},
      {"length", 5, {"in", "inch", "inches"}, 254, 10000},
      {"length", 5, {"ft", "foot", "feet"}, 3048, 10000},
      {"length", 7, {"yd", "yard", "yards"}, 9144, 10000},
      {"length", 7, {"mi", "mile", "miles"}, 1609344, 1000},
      {"mass", 1, {"kg", "kilogram", "kilograms"}, 1000, 1},
      {"mass", 1, {"g", "gram", "grams"}, 1, 1},
      {"mass", 1, {"t", "tonne", "tonnes"}, 1000000, 1},
      {"mass", 2, {"mg", "milligram", "milligrams"}, 1, 1000},
      {"mass", 7, {"lb", "pound", "pounds"}, 45359237, 100000},
      {"time", 1, {"s", "second", "seconds"}, 1, 1},
      {"time", 1, {"min", "minute", "minutes"}, 60, 1},
      {"time", 1, {"h", "hour", "hours"}, 3600, 1},
      {"time", 3, {"d", "day", "days"}, 86400, 1},
      {"time", 4, {"ms", "millisecond", "milliseconds"}, 1, 1000},
      {"volume", 2, {"L", "l", "litre", "litres", "liter", "liters"}, 1, 1},
      {"volume",
       2,
       {"mL", "ml", "millilitre", "millilitres", "milliliter", "milliliters"},
       1,
       1000},
      {"volume",
       4,
       {"m3", "m^3", "cubic metre", "cubic metres", "cubic meter", "cubic meters"},
       1000,
       1},
      {"volume", 6, {"gal", "gallon", "gallons"}, 3785411784, 1000000000},
      {"area",
       3,
       {"m2", "m^2", "square metre", "square metres", "square meter", "square meters"},
       1,
       1},
      {"area", 3, {"ha", "hectare", "hectares"}, 10000, 1},
      {"area",
       4,
       {"km2", "km^2", "square kilometre", "square kilometres", "square kilometer",
        "square kilometers"},
       1000000,
       1},
      {"area",
       5,
       {"cm2", "cm^2", "square centimetre", "square centimetres", "square centimeter",
        "square centimeters"},
       1,
       10000},
      {"speed", 5, {"m/s", "metres per second", "meters per second"}, 1, 1},
      {"speed", 5, {"km/h", "kilometres per hour", "kilometers per hour"}, 10, 36},
      {"temperature", 6, {"K", "kelvin", "kelvins"}, 1, 1},
      {"temperature",
       6,
       {"C",
        "\xC2\xB0"
        "C",
        "degree Celsius", "degrees Celsius", "Celsius"},
       1,
       1,
       27315},
      {"temperature",
       8,
       {"F",
        "\xC2\xB0"
        "F",
        "degree Fahrenheit", "degrees Fahrenheit", "Fahrenheit"},
       5,
       9,
       45967},
  };
  return rows;
}

using Wide = __int128;

/// A fraction in lowest terms with a positive denominator.
struct Fraction {
  Wide numerator, denominator;
};

Fraction reduced(Wide numerator, Wide denominator) {
  Wide a = numerator < 0 ? -numerator : numerator, b = denominator;
  while (b != 0) a = std::exchange(b, a % b);
  return {numerator / a, denominator / a};
}

/// (value + offset) * factor, in the other unit. Values have at most 7 digits, so nothing
/// overflows.
Fraction converted(Fraction value, const Unit& from, const Unit& to) {
  const Fraction shifted = reduced(
      value.numerator * 100 + from.offset_hundredths * value.denominator, value.denominator * 100);
  const Fraction scale =
      reduced(Wide(from.numerator) * to.denominator, Wide(from.denominator) * to.numerator);
  const Fraction there =
      reduced(shifted.numerator * scale.numerator, shifted.denominator * scale.denominator);
  return reduced(there.numerator * 100 - to.offset_hundredths * there.denominator,
                 there.denominator * 100);
}

/// The fraction as a decimal number; nothing if it does not end, or has more than ten digits.
std::optional<std::string> decimal_text(Fraction f) {
  constexpr Wide kMost = 10'000'000'000;
  std::size_t places = 0;
  for (Wide ten = 1; ten % f.denominator != 0; ten *= 10)
    if (++places > 9) return std::nullopt;
  Wide digits = f.numerator < 0 ? -f.numerator : f.numerator;
  for (std::size_t i = 0; i < places; ++i)
    if ((digits *= 10) / f.denominator >= kMost) return std::nullopt;
  digits /= f.denominator;
  if (digits >= kMost) return std::nullopt;
  std::string text = fmt::format("{:0{}}", std::int64_t(digits), places + 1);
  if (places > 0) text.insert(text.size() - places, 1, '.');
  return (f.numerator < 0 ? "-" : "") + text;
}

std::optional<Item> draw_units(const TaskSection& section, std::int64_t level, Draws& draws) {
  const Unit &from = draws.one_of(units()), &to = draws.one_of(units());
  const int hardest = std::max(from.level, to.level);
  if (&from == &to || std::string_view(from.dimension) != to.dimension || hardest > level ||
      hardest < std::min<std::int64_t>(level, 8) - 4)
    return std::nullopt;
  std::int64_t number = 1;
  for (std::int64_t i = draws.between(1, 2 + level / 3); i > 0; --i) number *= 10;
  number = draws.between(number / 10, number - 1);
  const Fraction value{number, level >= 4 && draws.chance(2) ? 10 : 1};
  const auto asked = decimal_text(reduced(value.numerator, value.denominator)),
             answer = decimal_text(converted(value, from, to));
  if (!asked || !answer) return std::nullopt;
  const std::string plain = fmt::format("{}{}={}:", *asked, from.spellings[0], to.spellings[0]);
  Item item{plain, nlohmann::json{{"value", *answer}, {"unit", to.spellings}}.dump(), *answer};
  item.domain = from.dimension;
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text = fmt::format("Convert {} {} to {}. Answer with the exact number and the unit only.",
                            *asked, from.spellings[0], to.spellings[0]);
  return item;
}

}  // namespace

PromptSet make_units(const TaskSection& section, std::uint64_t seed) {
  check_wordings("units", section.wording, {"plain", "question"});
  return generate(
      {"units", 1, 12,
       [&](std::int64_t level, Draws& draws) { return draw_units(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
