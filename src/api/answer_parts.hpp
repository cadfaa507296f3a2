// Parts of JSON that whole and streamed answers share.
#pragma once

#include "api/answer.hpp"
#include "base/text/json.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rollcall::api {

using Json = nlohmann::ordered_json;

inline constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

/// The beginning of an answer or an event: id, object, created and model. `object` of a chat is
/// chat.completion or chat.completion.chunk.
Json head_json(const Call& call, const char* object, std::uint64_t address);
Json usage_json(const Numbers& numbers);
/// null if the call does not ask for log-probs.
Json logprobs_json(const Call& call, std::span<const TokenNumbers> tokens);
/// A call of a tool; events also say which one it is.
Json tool_call_json(const text::ToolCall& called, std::uint64_t address, std::size_t index);
TokenNumbers token_numbers(const text::Tokenizer& tokenizer, std::int32_t token, double logprob,
                           std::int64_t& offset);
std::string bytes_of(const Json& json);

}  // namespace rollcall::api
