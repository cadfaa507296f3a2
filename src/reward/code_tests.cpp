// Reads references in JSON, and compares outputs.
#include "reward/code_tests.hpp"

#include "base/errors/error.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace rollcall::reward {
namespace {

using nlohmann::json;

std::string_view without_trailing_space(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n\f\v");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// The tolerance in a JSON object, or `otherwise`. Throws std::domain_error if it is not a number
/// of at least 0.
std::optional<double> tolerance_of(const json& object, std::optional<double> otherwise) {
  if (!object.contains("tolerance")) return otherwise;
  const json& given = object["tolerance"];
  const double tolerance = given.is_number() ? given.get<double>() : -1.0;
  if (!std::isfinite(tolerance) || tolerance < 0.0)
    throw std::domain_error(
        fmt::format("its tolerance is {}, not a finite number from 0 on", given.dump()));
  return tolerance;
}

std::vector<StdioCase> cases_of(const json& reference) {
  std::vector<StdioCase> cases;
  const auto tolerance = tolerance_of(reference, std::nullopt);
  for (const json& one : reference.at("cases"))
    cases.push_back({one.at("input").get<std::string>(), one.at("output").get<std::string>(),
                     tolerance_of(one, tolerance)});
  return cases;
}

}  // namespace

CodeTests parse_code_tests(std::string_view reference) {
  const auto refuse = [&](const std::string& problem) {
    require<InputError>(
        false, fmt::format("a code task's answer is no set of tests: {}", problem),
        "the response could not be judged",
        R"(write {"type": "stdio", "cases": [{"input": "", "output": ""}]}, or of type assert with code, or of type command)");
  };
  CodeTests tests;
  try {
    std::string fault;
    const json all = parse_foreign<json>(reference, fault);
    if (!fault.empty()) refuse(fault);
    const std::string type = all.value("type", all.contains("command") ? "command" : "stdio");
    if (type == "assert") {
      if (all.contains("tolerance"))
        refuse("its asserts have no outputs that a tolerance could be for");
      tests.asserts = all.at("code").get<std::string>();
    } else if (type == "stdio" || type == "command") {
      tests.cases = cases_of(all);
      if (type == "command") tests.command = all.at("command").get<std::vector<std::string>>();
      tests.file = all.value("file", "solution");
    } else {
      refuse(fmt::format("its type is \"{}\"", type));
    }
    if (type == "command" && tests.command.empty()) refuse("its command is empty");
    if (tests.file.find('/') != std::string::npos) refuse("its file has a slash");
  } catch (const json::exception& problem) {
    refuse(fault_of(problem));
  } catch (const std::domain_error& problem) {
    refuse(problem.what());
  }
  if (tests.asserts.empty() && tests.cases.empty()) refuse("it is empty");
  return tests;
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The decimal number at the beginning of the text; empty if there is none, or if letters follow it
/// directly.
std::string_view number_at(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const auto take_digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
  };
  std::size_t digits = take_digits();
  if (at < text.size() && text[at] == '.' &&
      (digits > 0 || (at + 1 < text.size() && is_digit(text[at + 1]))))
    ++at, digits += take_digits();
  if (digits == 0) return {};
  if (const std::size_t mantissa = at; at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    at += at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? 2 : 1;
    if (take_digits() == 0) at = mantissa;
  }
  return at < text.size() && is_of_a_word(text[at]) ? std::string_view() : text.substr(0, at);
}

/// An integer as sign and digits without leading zeros; nothing for any other number.
std::optional<std::string> integer_of(std::string_view number) {
  const bool negative = number.starts_with('-');
  if (negative || number.starts_with('+')) number.remove_prefix(1);
  if (!std::all_of(number.begin(), number.end(), is_digit)) return std::nullopt;
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number.empty() ? "0" : (negative ? "-" : "") + std::string(number);
}

bool is_near(std::string_view got, std::string_view wanted, double tolerance) {
  if (got == wanted) return true;
  const long double a = std::strtold(std::string(got).c_str(), nullptr),
                    b = std::strtold(std::string(wanted).c_str(), nullptr);
  const long double scale = std::max(1.0L, std::fabs(b));
  const auto whole_a = integer_of(got), whole_b = integer_of(wanted);
  // Whole numbers are compared as digits, so that they may have any length.
  if (whole_a && whole_b && tolerance * scale < 1) return *whole_a == *whole_b;
  const long double rounding = tolerance > 0
                                   ? tolerance * 4 * std::numeric_limits<double>::epsilon() +
                                         4 * std::numeric_limits<long double>::epsilon()
                                   : 0.0L;
  return std::fabs(a - b) <= (tolerance + rounding) * scale;
}

bool same_words(std::string_view got, std::string_view wanted, double tolerance) {
  char before = ' ';
  while (!got.empty() && !wanted.empty()) {
    const std::string_view a = is_of_a_word(before) ? std::string_view() : number_at(got),
                           b = is_of_a_word(before) ? std::string_view() : number_at(wanted);
    if (!a.empty() && !b.empty()) {
      if (!is_near(a, b, tolerance)) return false;
      got.remove_prefix(a.size()), wanted.remove_prefix(b.size()), before = '0';
      continue;
    }
    if (is_space(got.front()) && is_space(wanted.front())) {
      while (!got.empty() && is_space(got.front())) got.remove_prefix(1);
      while (!wanted.empty() && is_space(wanted.front())) wanted.remove_prefix(1);
      before = ' ';
      continue;
    }
    if (got.front() != wanted.front()) return false;
    before = got.front();
    got.remove_prefix(1), wanted.remove_prefix(1);
  }
  return got.empty() && wanted.empty();
}

}  // namespace

bool same_output(std::string_view got, std::string_view wanted, std::optional<double> tolerance) {
  got = without_trailing_space(got);
  wanted = without_trailing_space(wanted);
  while (!got.empty() && !wanted.empty()) {
    const std::string_view one = without_trailing_space(take_line(got)),
                           other = without_trailing_space(take_line(wanted));
    if (one != other && !(tolerance && same_words(text::trim(one), text::trim(other), *tolerance)))
      return false;
  }
  return got.empty() && wanted.empty();
}

}  // namespace rollcall::reward
