// A recursive-descent parser with a depth limit, which computes values as it goes.
#include "reward/expression.hpp"

#include <charconv>

namespace rollcall::reward {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::optional<Expression> whole() {
    const auto value = sum(0);
    if (!value || peek() != '\0' || !rest_.empty()) return std::nullopt;
    return Expression{*value, std::move(numbers_)};
  }

 private:
  /// The next byte that is not a space; NUL at the end. A NUL in the text is not a token either.
  char peek() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }

  std::optional<Rational> sum(int depth) {
    auto value = product(depth);
    while (value && (peek() == '+' || peek() == '-'))
      value = extend(*value, &Parser::product, depth);
    return value;
  }

  std::optional<Rational> product(int depth) {
    auto value = factor(depth);
    while (value && (peek() == '*' || peek() == '/'))
      value = extend(*value, &Parser::factor, depth);
    return value;
  }

  std::optional<Rational> extend(const Rational& left,
                                 std::optional<Rational> (Parser::*operand)(int), int depth) {
    const char op = peek();
    rest_.remove_prefix(1);
    const auto right = (this->*operand)(depth);
    return right ? apply(left, op, *right) : std::nullopt;
  }

  std::optional<Rational> factor(int depth) {
    if (peek() != '(') return number();
    if (depth == kDeepestExpression) return std::nullopt;
    rest_.remove_prefix(1);
    const auto value = sum(depth + 1);
    if (!value || peek() != ')') return std::nullopt;
    rest_.remove_prefix(1);
    return value;
  }

  std::optional<Rational> number() {
    if (peek() < '0' || peek() > '9') return std::nullopt;  // from_chars would also take a sign
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(std::size_t(end - rest_.data()));
    numbers_.push_back(value);
    return Rational{value, 1};
  }

  std::string_view rest_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace

std::optional<Expression> parse_expression(std::string_view text) {
  if (text.size() > kLongestExpression) return std::nullopt;
  return Parser(text).whole();
}

}  // namespace rollcall::reward
