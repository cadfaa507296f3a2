// Reads each number as digits * 10^exponent, without zeros at either end of its digits.
#include "reward/exact_json.hpp"

#include "base/text/foreign_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

namespace rollcall::reward {
namespace {

using Json = nlohmann::json;
// larger exponents count as this one, because no text has that many digits
constexpr long long kFar = 1'000'000'000'000;

struct Decimal {
  bool negative = false;
  std::string digits;  ///< empty for zero
  long long exponent = 0;
};

/// `text` is a number as JSON writes it.
Decimal decimal(std::string_view text) {
  Decimal number;
  number.negative = text.starts_with('-');
  const std::size_t e = std::min(text.find_first_of("eE"), text.size()),
                    point = std::min(text.find('.'), e);
  for (const char c : text.substr(0, e))
    if (c >= '0' && c <= '9') number.digits += c;
  if (e < text.size())
    number.exponent =
        std::clamp(std::strtoll(std::string(text.substr(e + 1)).c_str(), nullptr, 10), -kFar, kFar);
  if (point < e) number.exponent -= static_cast<long long>(e - point - 1);
  number.digits.erase(0, std::min(number.digits.find_first_not_of('0'), number.digits.size()));
  for (; number.digits.ends_with('0'); number.digits.pop_back()) ++number.exponent;
  return number;
}

std::string text_of(const Decimal& number) {
  return fmt::format("{}{}e{}", number.negative ? "-" : "", number.digits, number.exponent);
}

template <class Integer>
bool holds(const std::string& text, Json& value) {
  Integer integer{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  value = integer;
  return true;
}

Json held(double nearest, const std::string& text) {
  const Decimal number = decimal(text);
  if (number.digits.empty()) return 0;
  if (number.exponent >= 0 && number.exponent < 20) {
    Json integer;
    const std::string whole = (number.negative ? "-" : "") + number.digits +
                              std::string(std::size_t(number.exponent), '0');
    if (holds<std::int64_t>(whole, integer) || holds<std::uint64_t>(whole, integer)) return integer;
  }
  if (number.digits.size() <= DBL_DIG && std::isnormal(nearest)) return nearest;
  const std::string own = text_of(number);
  return Json::binary({own.begin(), own.end()});
}

std::string digits_of(const Json& big) {
  return {big.get_binary().begin(), big.get_binary().end()};
}
Decimal value_of(const Json& number) {
  return decimal(number.is_binary() ? digits_of(number) : number.dump());
}

/// Builds values as the library does, except for numbers.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  Json root;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    return put(held(value, text));
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  Json& placed(Json value) {
    if (open_.empty()) return root = std::move(value);
    Json& holder = *open_.back();
    if (holder.is_object()) return holder[key_] = std::move(value);
    holder.push_back(std::move(value));
    return holder.back();
  }
  bool put(Json value) {
    placed(std::move(value));
    return true;
  }
  bool open(Json value) {
    open_.push_back(&placed(std::move(value)));  // the value stays at this address until it is
                                                 // closed
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace

Json parse_exact(std::string_view text, std::string& fault) {
  parse_foreign_value<Json>(text, fault);
  Reader reader;
  if (fault.empty()) Json::sax_parse(text, &reader);
  return std::move(reader.root);
}

bool is_number(const Json& value) { return value.is_number() || value.is_binary(); }
bool is_integer(const Json& value) {
  if (value.is_number_float() || value.is_binary()) return value_of(value).exponent >= 0;
  return value.is_number_integer();
}

int order(const Json& a, const Json& b) {
  if (!a.is_binary() && !b.is_binary()) return a == b ? 0 : a < b ? -1 : 1;
  const Decimal x = value_of(a), y = value_of(b);
  const auto sign = [](const Decimal& n) { return n.digits.empty() ? 0 : n.negative ? -1 : 1; };
  if (sign(x) != sign(y) || sign(x) == 0) return sign(x) < sign(y) ? -1 : sign(x) > sign(y) ? 1 : 0;
  const long long high_x = x.exponent + static_cast<long long>(x.digits.size()),
                  high_y = y.exponent + static_cast<long long>(y.digits.size());
  const int larger = high_x != high_y                 ? (high_x < high_y ? -1 : 1)
                     : x.digits.compare(y.digits) < 0 ? -1
                     : x.digits == y.digits           ? 0
                                                      : 1;
  return sign(x) * larger;
}

std::string written(const Json& value) {
  if (value.is_binary()) return digits_of(value);
  if (!value.is_structured()) return value.dump();
  std::string all;
  for (const auto& [key, inner] : value.items())
    all += (all.empty() ? "" : ",") + (value.is_object() ? Json(key).dump() + ":" : std::string()) +
           written(inner);
  return value.is_object() ? "{" + all + "}" : "[" + all + "]";
}

}  // namespace rollcall::reward
