// Compares numbers with units exactly.
#include "reward/rational.hpp"
#include "reward/reference.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/plain_latex.hpp"
#include "text/conclusion/final_answer.hpp"
#include "text/conclusion/prose.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rollcall::reward {
namespace {

struct Quantity {
  Rational value;
  std::vector<std::string> unit;  ///< spellings of the unit; answers are shown with the first
};

/// Reads a decimal number; nothing beyond 64 bits.
std::optional<Rational> parse_decimal(std::string_view text) {
  std::string digits = text::normal_answer(text);  // 1,050.00 is 1050
  const std::size_t point = digits.find('.');
  Rational scale{1, 1};
  if (point != std::string::npos) {
    for (std::size_t i = point + 1; i < digits.size(); ++i) {
      const auto tenfold = apply(scale, '*', {10, 1});
      if (!tenfold) return std::nullopt;
      scale = *tenfold;
    }
    digits.erase(point, 1);
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() ||
      value == std::numeric_limits<std::int64_t>::min())
    return std::nullopt;
  return apply({value, 1}, '/', scale);
}

/// "2 500" -> "2500"; unchanged if the spaces do not separate groups of three digits.
std::string without_groups(std::string_view text) {
  const auto groups = text::split(text, " ");
  const auto is_whole = [](std::string_view group) {
    return !group.empty() && group.find_first_not_of("0123456789") == std::string_view::npos;
  };
  std::string joined(groups.front());
  const std::size_t sign = joined.starts_with('-') || joined.starts_with('+') ? 1 : 0;
  if (joined.size() > 3 + sign || !is_whole(std::string_view(joined).substr(sign)))
    return std::string(text);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const std::string_view digits =
        groups[i].substr(0, i + 1 == groups.size() ? groups[i].find('.') : std::string_view::npos);
    if (digits.size() != 3 || !is_whole(digits)) return std::string(text);
    joined += groups[i];
  }
  return joined;
}

/// Reads a decimal number, a fraction of two numbers, or a whole number with a fraction after it (2
/// 1/2).
std::optional<Rational> parse_number(std::string_view given) {
  const std::string grouped = without_groups(given);
  const std::string_view text = grouped;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return parse_decimal(text);
  if (const std::size_t space = text.find(' ');
      space < slash && space > 0 &&
      text.find_first_not_of("0123456789/", space + 1) == std::string_view::npos) {
    const auto whole = parse_decimal(text.substr(0, space)),
               part = parse_number(text.substr(space + 1));
    if (!whole || !part || part->numerator >= part->denominator) return std::nullopt;
    return apply(*whole, text.starts_with('-') ? '-' : '+', *part);
  }
  const auto a = parse_decimal(text.substr(0, slash)), b = parse_decimal(text.substr(slash + 1));
  return a && b ? apply(*a, '/', *b) : std::nullopt;
}

Quantity read_quantity(const Json& reference) {
  const auto value = parse_number(reference.at("value").get<std::string>());
  check_reference(value.has_value(), "value is no number of 64 bits");
  auto unit = reference.at("unit").get<std::vector<std::string>>();
  check_reference(!unit.empty(), "unit has no spelling");
  return {*value, std::move(unit)};
}

struct Parts {
  std::string number, unit;
};

/// Replaces spaces of other widths, which separate groups of digits, with ordinary ones.
std::string with_plain_spaces(std::string_view text) {
  std::string plain(text);
  // no-break, thin, narrow no-break
  for (const std::string_view space : {"\xC2\xA0", "\xE2\x80\x89", "\xE2\x80\xAF"})
    plain = text::replaced(plain, space, " ");
  return plain;
}

/// "2.5 km" -> "2.5", "km"
Parts parts_of(std::string_view given) {
  constexpr std::string_view kMinus = "\xE2\x88\x92";  // U+2212
  const std::string spaced = with_plain_spaces(given);
  std::string_view text = text::trim(spaced);
  const bool negative = text.starts_with(kMinus);
  if (negative) text.remove_prefix(kMinus.size());
  const std::size_t end = std::min(text.find_first_not_of("+-0123456789.,/ "), text.size());
  return {(negative ? "-" : "") + std::string(text::trim(text.substr(0, end))),
          std::string(text::trim(text.substr(end)))};
}

/// Whether the text after a number can be its unit, and not another value or words.
bool may_be_unit(std::string_view unit) {
  for (std::size_t i = 1; i < unit.size(); ++i)
    if (unit[i] >= '0' && unit[i] <= '9' && unit[i - 1] == ' ') return false;
  return unit.find_first_of("=,;:") == std::string_view::npos &&
         unit.find(" is ") == std::string_view::npos &&
         unit.find("\xC3\x97") == std::string_view::npos;
}

/// The last value of a chain: "2.5 km = 2500 m" is 2500 m. A text without an equals sign is
/// unchanged.
std::string_view behind_equals(std::string_view text) {
  const std::size_t sign = text.rfind('=');
  return sign == std::string_view::npos ? text : text.substr(sign + 1);
}

double as_double(const Rational& r) { return double(r.numerator) / double(r.denominator); }

/// 1 for equal values, falling with the relative error to 0 at 100 %.
double closeness(const Rational& given, const Rational& wanted) {
  if (given == wanted) return 1.0;
  const double a = as_double(given), b = as_double(wanted);
  return b == 0.0 ? 0.0 : std::clamp(1.0 - std::abs(a - b) / std::abs(b), 0.0, 1.0);
}

}  // namespace

Score judge_quantity(const Prompt& prompt, const Response& response) {
  const auto wanted = read_reference(
      prompt,
      R"({"value": "2500", "unit": ["m", "metre", "metres"]}, the value a decimal number or a fraction)",
      read_quantity);
  const auto text = complete_answer(response);
  if (!text) return no_answer(3);
  auto [number, unit] = parts_of(*text);
  const bool is_alone = may_be_unit(unit);
  auto value = is_alone ? parse_number(number) : std::nullopt;
  if (!value) {  // in LaTeX, or announced in words
    const auto stated = text::stated_answer(*text);
    for (const std::string& other :
         {text::plain_latex(*text), stated ? text::plain_latex(*stated) : std::string()}) {
      if (value) break;
      const Parts parts = parts_of(behind_equals(other));
      if (!may_be_unit(parts.unit)) continue;
      value = parse_number(parts.number), number = parts.number, unit = parts.unit;
    }
  }
  if (!value) return score_of({0, 0, 0}, {}, "it is no number with a unit");
  if (unit.ends_with('.')) unit.pop_back();
  const auto spelt = [&](const std::string& spelling) {
    return spelling == unit || (spelling.size() > 3 && spelling == text::lower(unit));
  };  // a spelling of more than three letters may have capitals: "Metres", but not "KM"
  const bool format = unit.empty() || std::any_of(wanted.unit.begin(), wanted.unit.end(), spelt);
  const bool correct = format && *value == wanted.value;
  return score_of({double(correct), double(format), format ? closeness(*value, wanted.value) : 0.0},
                  value->text() + (format ? "" : " " + unit),
                  format ? "the value is another" : "the unit is another");
}

}  // namespace rollcall::reward
