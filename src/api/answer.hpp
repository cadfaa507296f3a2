// What the policy said, as such a server says it.
#pragma once

#include "api/call.hpp"
#include "api/template.hpp"
#include "text/chat/tool_calls.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::api {

struct Said {
  /// Without calls of tools and without the text of `stop` that ended it. Stop texts of the run
  /// stay, since verifiers look for them. Valid UTF-8.
  std::string content;
  std::vector<text::ToolCall> calls;
  std::string finish;   ///< stop | length | tool_calls
  bool unread = false;  ///< a call was begun that cannot be read; `content` is the whole text
};

/// Reads an answer. `forced`: how it was made to begin; `sampled`: its tokens after that;
/// `stopped`: it ended with an end token or a stop text, and not at a limit.
Said said_of(const Template& shown, const Call& call, std::string_view forced,
             std::span<const std::int32_t> sampled, bool stopped);

/// The id of a call of a tool; `address` is that of the answer.
std::string call_id(std::uint64_t address, std::size_t index);

/// The answer as a message of later calls, in the form of normal_message().
text::Message message_of(const Said& said, std::uint64_t address);

/// A token of an answer.
struct TokenNumbers {
  std::string text;         ///< valid UTF-8; U+FFFD where it is no whole character
  double logprob = 0.0;     ///< natural logarithm
  std::int64_t offset = 0;  ///< where its text begins, in characters from the answer's begin
};
struct Numbers {
  std::int64_t prompt_tokens = 0, completion_tokens = 0;
  std::vector<TokenNumbers> tokens{};  ///< where the call asks for log-probs
};
/// `logprob`: [T] of `sampled`, [T].
Numbers numbers_of(const Template& shown, const Call& call, std::int64_t prompt_tokens,
                   std::span<const std::int32_t> sampled, std::span<const float> logprob);

/// The body of an answer that is not streamed. The same answer has the same bytes at any time, with
/// an id made of `address` and no time of creation.
std::string answer_json(const Call& call, const Said& said, const Numbers& numbers,
                        std::uint64_t address);

}  // namespace rollcall::api
