// Which question a request asks, by its method and address.
#pragma once

#include "api/refusal.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace rollcall::api {

struct Question {
  enum class Kind : std::uint8_t { chat, completion, models, model } kind = Kind::chat;
  std::string model{};  ///< with Kind::model: which one
};

/// /v1/chat/completions and /v1/completions, with POST; /v1/models and /v1/models/NAME, with GET or
/// HEAD. What follows a question mark is ignored. Others are refused with status 404 or 405.
std::variant<Question, Refusal> read_address(std::string_view method, std::string_view target);

/// The list of models. None has a time of creation.
std::string models_json(std::span<const std::string> names);
std::string model_json(std::string_view name);
Refusal no_model(std::string_view name);  ///< status 404

}  // namespace rollcall::api
