// Listens to the JSON parser's events, which carry the text of a number with its value.
#include "base/text/exact_number.hpp"

#include "base/text/json.hpp"

#include <algorithm>
#include <cfloat>

namespace rollcall {
namespace {

using Json = nlohmann::json;

class NumberUnder final : public nlohmann::json_sax<Json> {
 public:
  explicit NumberUnder(const std::string& key) : key_(key) {}
  std::string found;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return take(Json(value).dump()); }
  bool number_unsigned(number_unsigned_t value) override { return take(Json(value).dump()); }
  bool number_float(number_float_t value, const string_t& text) override {
    const std::string digits = text.substr(0, text.find_first_of("eE"));
    const auto first =
        std::find_if(digits.begin(), digits.end(), [](char c) { return c >= '1' && c <= '9'; });
    const auto count =
        std::count_if(first, digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    return take(count <= DBL_DIG ? Json(value).dump() : text);
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ > 0; }
  bool key(string_t& name) override {
    if (depth_ == 1) is_at_key_ = name == key_;
    return true;
  }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return ++depth_ > 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  bool take(const std::string& number) {
    if (depth_ == 1 && is_at_key_) found = number;
    return true;
  }

  const std::string& key_;
  int depth_ = 0;
  bool is_at_key_ = false;
};

}  // namespace

std::string exact_number(std::string_view text, const std::string& key) {
  NumberUnder number(key);
  Json::sax_parse(text, &number);
  return number.found;
}

}  // namespace rollcall
