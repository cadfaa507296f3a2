// The table of units.
#include "reward/math/units.hpp"

#include <algorithm>
#include <cctype>

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
    {" ml milliliter millilitre ", "volume", 1, 1000},
    {" l liter litre ", "volume", 1, 1},
    {" dollar ", "money", 1, 1},
    {" cent ", "money", 1, 100},
    {" mph ", "length/time", 1609344, 3600000},
    {" kmh ", "length/time", 1000, 3600},
};

std::string normal(std::string_view words) {
  std::string text;
  for (const char c : words)
    if (!(c == ' ' && (text.empty() || text.back() == ' ')) && c != '.') text += char(std::tolower(static_cast<unsigned char>(c)));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::optional<Unit> simple(std::string_view word) {
  for (const std::size_t cut : {std::size_t(0), std::size_t(1)}) {  // plural
    if (cut == 1 && (word.size() < 3 || word.back() != 's')) break;
    std::string key(1, ' ');
    key.append(word.substr(0, word.size() - cut)).append(1, ' ');
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.names.find(key) != std::string_view::npos; });
    if (row == std::end(kRows)) continue;
    mpq_class factor(row->numerator, row->denominator);
    factor.canonicalize();
    return Unit{row->dimension, factor};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Unit> find_unit(std::string_view words) {
  std::string text = normal(words);
  int power = 1;
  if (text.starts_with("square ")) power = 2, text.erase(0, 7);
  if (text.starts_with("cubic ")) power = 3, text.erase(0, 6);
  if (text.ends_with("^2") || text.ends_with("^3")) power = text.back() - '0', text.resize(text.size() - 2);
  const std::size_t slash = text.find('/');
  auto unit = simple(text.substr(0, slash));
  if (!unit) return std::nullopt;
  if (slash != std::string::npos) {
    const auto below = simple(text.substr(slash + 1));
    if (!below) return std::nullopt;
    return Unit{unit->dimension.append(1, '/').append(below->dimension), unit->factor / below->factor};
  }
  const mpq_class one = unit->factor;
  for (int n = 1; n < power; ++n) unit->factor *= one;
  if (power > 1) unit->dimension.append(1, '^').append(std::to_string(power));
  return unit;
}

}  // namespace rollcall::reward::math
