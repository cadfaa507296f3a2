// Makes messages, and reads JSON without losing digits.
#include "text/chat/conversation.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

namespace rollcall::text {
namespace {

using Json = nlohmann::ordered_json;

/// Refuses whole numbers beyond 64 bits, which nlohmann's own reader would turn into doubles.
struct ExactReader : nlohmann::detail::json_sax_dom_parser<Json> {
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;
  ExactReader(Json& value, std::string_view origin) : Base(value, false), where(origin) {}
  bool number_float(double value, const std::string& text) {
    require(text.find_first_of(".eE") != std::string::npos,
            fmt::format("{} holds {}, a whole number beyond 64 bits", where, text),
            "a template would print another number", "pass it as a string");
    return Base::number_float(value, text);
  }
  std::string_view where;
};

}  // namespace

Message message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

bool is_said_by(const Message& message, std::string_view role) {
  const auto at = message.find("role");
  return at != message.end() && *at == role;
}

Json parse_in_order(std::string_view json, std::string_view where) {
  Json value;
  ExactReader reader(value, where);
  if (!Json::sax_parse(json, &reader)) return Json(Json::value_t::discarded);
  return value;
}

}  // namespace rollcall::text
