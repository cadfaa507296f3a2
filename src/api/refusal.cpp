// The table of types and codes, and the body of a refusal.
#include "api/refusal.hpp"

#include "base/text/json.hpp"

namespace rollcall::api {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string error_json(const Refusal& refusal) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  const Json error = {{"message", refusal.message},
                      {"type", refusal.type},
                      {"param", text_or_null(refusal.param)},
                      {"code", text_or_null(refusal.code)}};
  const Json body = {{"error", error}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Refusal refusal_of(int status, const std::string& why) {
  Refusal refusal{.status = status, .message = why};
  switch (status) {
    case 401: refusal.code = "invalid_api_key"; break;
    case 429:
      refusal.type = "requests";
      refusal.code = "rate_limit_exceeded";
      break;
    case 500: refusal.type = "server_error"; break;
    case 503:
      refusal.type = "server_error";
      refusal.code = "server_stopped";
      break;
    default: break;
  }
  return refusal;
}

}  // namespace rollcall::api
