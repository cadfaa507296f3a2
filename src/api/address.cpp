// The table of addresses.
#include "api/address.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <utility>

namespace rollcall::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kModels = "/v1/models";

Json model_of(std::string_view name) {
  return {{"id", name}, {"object", "model"}, {"created", 0}, {"owned_by", "rollcall"}};
}

std::variant<Question, Refusal> with_method(std::string_view method, std::string_view wanted,
                                            const Question& question) {
  if (method == wanted || (method == "HEAD" && wanted == "GET")) return question;
  return Refusal{.status = 405,
                 .message = error_message(
                     fmt::format("this address is not asked with {}", visible(brief(method, 20))),
                     "it would mean something else", fmt::format("use {}", wanted)),
                 .allow = wanted == "GET" ? "GET, HEAD" : std::string(wanted)};
}

}  // namespace

std::variant<Question, Refusal> read_address(std::string_view method, std::string_view target) {
  using Kind = Question::Kind;
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/v1/chat/completions") return with_method(method, "POST", {.kind = Kind::chat});
  if (path == "/v1/completions") return with_method(method, "POST", {.kind = Kind::completion});
  if (path == kModels) return with_method(method, "GET", {.kind = Kind::models});
  if (path.starts_with(kModels) && path.size() > kModels.size() + 1 && path[kModels.size()] == '/')
    return with_method(
        method, "GET",
        {.kind = Kind::model, .model = std::string(path.substr(kModels.size() + 1))});
  return Refusal{
      .status = 404,
      .message = error_message(fmt::format("there is no address {}", visible(brief(path, 80))),
                               "nothing is answered there",
                               "use /v1/chat/completions, /v1/completions or /v1/models")};
}

std::string models_json(std::span<const std::string> names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(model_of(name));
  const Json models = {{"object", "list"}, {"data", std::move(list)}};
  return models.dump();
}

std::string model_json(std::string_view name) { return model_of(name).dump(); }

Refusal no_model(std::string_view name) {
  return {
      .status = 404,
      .code = "model_not_found",
      .message = error_message(fmt::format("there is no model \"{}\"", visible(brief(name, 80))),
                               "nothing is known of it", "ask /v1/models for the names"),
      .param = "model"};
}

}  // namespace rollcall::api
