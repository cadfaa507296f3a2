// Turns values into text as Python's str(), repr() and json.dumps() do.
#pragma once

#include "text/jinja/call.hpp"

#include <optional>
#include <string>

namespace rollcall::text::jinja {

/// A string under construction, which may not become longer than the budget allows.
class Builder {
 public:
  explicit Builder(Budget& budget) : budget_(budget) {}
  Builder& operator+=(std::string_view s) {
    budget_.check(std::int64_t(text_.size() + s.size()));
    text_ += s;
    return *this;
  }
  Builder& operator+=(char c) { return *this += std::string_view(&c, 1); }
  Budget& budget() { return budget_; }
  std::string take() { return std::move(text_); }

 private:
  Budget& budget_;
  std::string text_;
};

std::string str(Context& context, const Value& value);
std::string repr(Context& context, const Value& value);
std::string repr_text(std::string_view text);  ///< in quotes, as Python chooses and escapes them
/// The shortest text that reads back as the same number: 1.0, 1e-05, inf.
std::string repr_real(double value);
std::string escape_html(Budget& budget, std::string_view text);

struct JsonStyle {
  bool ensure_ascii = false, sort_keys = false;
  std::optional<std::string> indent;  ///< without it, everything is on one line
  std::string between_items = ", ", after_key = ": ";
};
std::string json_text(Context& context, const Value& value, const JsonStyle& style);

}  // namespace rollcall::text::jinja
