// A request to /v1/chat/completions or /v1/completions, as far as it is answered here.
#pragma once

#include "api/refusal.hpp"
#include "core/plan.hpp"
#include "text/chat/conversation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rollcall::api {

struct Call {
  enum class Kind : std::uint8_t { chat, completion } kind = Kind::chat;
  std::string model{};                    ///< any name; the answer repeats it
  std::string prompt{};                   ///< of a completion
  std::vector<text::Message> messages{};  ///< of a chat, in the form of normal_message()
  text::Message tools{};                  ///< null, or the list as it came
  /// Whether the answer may call tools: as the policy likes, not at all, any of them, or `named`.
  enum class Choice : std::uint8_t { automatic, none, required, named } choice = Choice::automatic;
  std::string named{};
  std::vector<std::string> stop{};
  std::optional<std::int64_t> max_tokens{}, seed{};
  bool streams = false;   ///< the answer comes as events
  bool usage = false;     ///< the last event has the numbers of tokens
  bool logprobs = false;  ///< of the tokens of the answer
};

/// Reads a request's body. What changes no draw is ignored, as "user" and "metadata". What is asked
/// for and cannot be had is refused, as several answers or a form of the answer, since nothing is
/// answered approximately; so is an unknown key. temperature, top_p and top_k are those of
/// `sampling` or left out. Never throws for any bytes.
std::variant<Call, Refusal> read_call(Call::Kind kind, std::string_view body,
                                      const SamplingParams& sampling);

/// The names of the functions in the call's tools.
std::vector<std::string> tool_names(const Call& call);

}  // namespace rollcall::api
