// The table of units, as data.
#pragma once

#include <string_view>

namespace rollcall::reward::math {

/// The SI prefixes that a unit takes. Its symbols take prefix symbols, and its names take prefix
/// names.
enum class Prefixes { none, all };

struct UnitRow {
  /// Symbols, separated by spaces. A word is compared with them as it is written. If that finds no
  /// unit, it is compared in lower case.
  std::string_view symbols;
  /// Names, separated by spaces, in lower case and singular; plurals in s are understood.
  std::string_view names;
  /// The units that it is a multiple of, as find_unit() reads them. A base unit has "=" and the
  /// name of its dimension.
  std::string_view base;
  const char* factor = "1";  ///< exact by definition, as GMP reads rationals
  Prefixes prefixes = Prefixes::none;
  const char* offset = "0";  ///< zero of this unit in the base unit
};

/// Base units and derived ones: the SI brochure (9th edition, 2019), tables 2 to 8; the
/// international yard and pound agreement (1959) and NIST Handbook 44, appendix C, for United
/// States customary units.
inline constexpr UnitRow kUnits[] = {
    // Base units, and units for things that have their own unit of counting.
    {"m", "meter metre", "=length", "1", Prefixes::all},
    {"g", "gram gramme", "=mass", "1/1000", Prefixes::all},
    {"s sec secs", "second", "=time", "1", Prefixes::all},
    {"A amp", "ampere amp", "=current", "1", Prefixes::all},
    {"K", "kelvin", "=temperature", "1", Prefixes::all},
    {"mol", "mole", "=amount", "1", Prefixes::all},
    {"cd", "candela", "=luminous intensity", "1", Prefixes::all},
    {"", "month", "=month"},
    {"bit", "bit", "=data", "1", Prefixes::all},
    {"USD usd $", "dollar buck", "=dollars"},
    {"EUR eur", "euro", "=euros"},
    {"JPY jpy", "yen", "=yen"},
    {"rad", "radian", "=angle", "1", Prefixes::all},
    {"sr", "steradian", "=solid angle"},
    {"", "unit", "=unit"},
    {"AM am", "", "=before noon"},
    {"PM pm", "", "=after noon"},
    // Derived SI units, as products of base units.
    {"Hz hz", "hertz", "s^-1", "1", Prefixes::all},
    {"mhz", "", "MHz"},
    {"N", "newton", "kg m/s^2", "1", Prefixes::all},
    {"Pa pa", "pascal", "N/m^2", "1", Prefixes::all},
    {"J j", "joule", "N m", "1", Prefixes::all},
    {"W w", "watt", "J/s", "1", Prefixes::all},
    {"C", "coulomb", "A s", "1", Prefixes::all},
    {"V v", "volt", "W/A", "1", Prefixes::all},
    {"F", "farad", "C/V", "1", Prefixes::all},
    {"Ω ohm", "ohm", "V/A", "1", Prefixes::all},
    {"S", "siemens", "A/V", "1", Prefixes::all},
    {"Wb", "weber", "V s", "1", Prefixes::all},
    {"T", "tesla", "Wb/m^2", "1", Prefixes::all},
    {"H", "henry", "Wb/A", "1", Prefixes::all},
    {"lm", "lumen", "cd sr"},
    {"lx", "lux", "lm/m^2"},
    {"Bq", "becquerel", "s^-1", "1", Prefixes::all},
    {"Gy", "gray", "J/kg", "1", Prefixes::all},
    {"Sv", "sievert", "J/kg", "1", Prefixes::all},
    {"L l", "liter litre", "m^3", "1/1000", Prefixes::all},
    {"t", "tonne", "kg", "1000"},
    {"ha", "hectare", "m^2", "10000"},
    {"eV", "electronvolt", "J", "1602176634/10000000000000000000000000000", Prefixes::all},
    {"Nm", "", "N m"},
    {"bar", "bar", "Pa", "100000", Prefixes::all},
    {"Å", "angstrom", "m", "1/10000000000"},
    {"", "micron", "m", "1/1000000"},
    {"dyn", "dyne", "N", "1/100000"},
    {"erg", "erg", "J", "1/10000000"},
    {"au AU", "", "m", "149597870700"},
    {"ly", "lightyear light-year", "m", "9460730472580800"},
    {"°C", "celsius centigrade", "K", "1", Prefixes::none, "27315/100"},
    {"°F", "fahrenheit", "K", "5/9", Prefixes::none, "45967/180"},
    {"B", "byte", "bit", "8", Prefixes::all},
    {"cc", "", "cm^3"},
    // Time.
    {"min mins", "minute", "s", "60"},
    {"h hr hrs", "hour", "s", "3600"},
    {"d", "day", "s", "86400"},
    {"wk", "week", "s", "604800"},
    {"", "fortnight", "s", "1209600"},
    {"yr yrs", "year", "month", "12"},
    {"", "decade", "month", "120"},
    {"", "century centurie", "month", "1200"},
    {"rpm", "", "revolution/min"},
    {"Wh wh", "", "W h", "1", Prefixes::all},
    {"Ah", "", "A h", "1", Prefixes::all},
    // Customary units.
    {"in", "inch inche", "m", "254/10000"},
    {"ft", "foot feet", "m", "3048/10000"},
    {"yd yds", "yard", "m", "9144/10000"},
    {"mi", "mile", "m", "1609344/1000"},
    {"nmi", "", "m", "1852"},
    {"", "furlong", "yd", "220"},
    {"lb lbs", "pound", "kg", "45359237/100000000"},
    {"oz", "ounce", "lb", "1/16"},
    {"", "ton", "lb", "2000"},
    {"", "stone", "lb", "14"},
    {"lbf", "", "N", "44482216152605/10000000000000"},
    {"psi", "", "lbf/in^2"},
    {"gal gals", "gallon", "in^3", "231"},
    {"qt", "quart", "gal", "1/4"},
    {"pt", "pint", "gal", "1/8"},
    {"", "cup", "gal", "1/16"},
    {"floz", "", "gal", "1/128"},
    {"tbsp", "tablespoon", "gal", "1/256"},
    {"tsp", "teaspoon", "gal", "1/768"},
    {"", "acre", "ft^2", "43560"},
    {"mph", "", "mi/h"},
    {"kmh kph kmph", "", "km/h"},
    {"mpg", "", "mi/gal"},
    {"kn", "knot", "m/h", "1852"},
    {"atm", "atmosphere", "Pa", "101325"},
    {"mmHg", "", "Pa", "133322387415/1000000000"},
    {"cal", "calorie", "J", "4184/1000", Prefixes::all},
    {"hp", "horsepower", "ft lbf/s", "550"},
    // Money.
    {"¢ ct", "cent", "USD", "1/100"},
    {"", "penny pennie", "USD", "1/100"},
    {"", "nickel", "USD", "1/20"},
    {"", "dime", "USD", "1/10"},
};

struct PrefixRow {
  std::string_view symbols, name;
  int exponent;  ///< the prefix means 10^exponent
};

/// SI brochure, table 7.
inline constexpr PrefixRow kPrefixes[] = {
    {"Y", "yotta", 24},  {"Z", "zetta", 21},     {"E", "exa", 18},    {"P", "peta", 15},
    {"T", "tera", 12},   {"G", "giga", 9},       {"M", "mega", 6},    {"k K", "kilo", 3},
    {"h", "hecto", 2},   {"da", "deca", 1},      {"d", "deci", -1},   {"c", "centi", -2},
    {"m", "milli", -3},  {"µ μ u", "micro", -6}, {"n", "nano", -9},   {"p", "pico", -12},
    {"f", "femto", -15}, {"a", "atto", -18},     {"z", "zepto", -21}, {"y", "yocto", -24},
};

}  // namespace rollcall::reward::math
