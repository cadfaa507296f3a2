// A conversation in the form that chat templates read. It has all keys of the messages, and the
// variables that belong to the conversation.
#pragma once

#include "base/text/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// An object with a role. Its content is a string, a list of parts ({"type": "text", "text": ...}),
/// null, or missing. Other keys (tool_calls, reasoning_content, name, tool_call_id, ...) are given
/// to the template as they are. Keys keep their order, because templates print objects.
using Message = nlohmann::ordered_json;

struct Conversation {
  std::vector<Message> messages;
  /// Variables of the template for this conversation: tools, documents, enable_thinking, ...
  Message variables = Message::object();
};

Message message(std::string_view role, std::string_view content);
bool is_said_by(const Message& message, std::string_view role);

/// The keys that may hold the speaker's thoughts in a message. Different templates read different
/// ones.
inline constexpr const char* kThoughtKeys[] = {"reasoning_content", "reasoning", "thinking"};

/// Calls `change` with the key and the text of everything that the message's speaker says, in this
/// order: thoughts (reasoning_content, reasoning, thinking), the content or its text parts, and the
/// names of the functions that are called. Blank strings are left out.
template <class Change>
void each_said(Message& message, const Change& change) {
  const auto offer = [&](Message& owner, const char* key) {
    const auto at = owner.find(key);
    if (at == owner.end() || !at->is_string()) return;
    auto& text = at->template get_ref<std::string&>();
    if (text.find_first_not_of(" \t\r\n\f\v") != std::string::npos)
      change(std::string_view(key), text);
  };
  for (const char* key : kThoughtKeys) offer(message, key);
  offer(message, "content");
  if (const auto content = message.find("content"); content != message.end() && content->is_array())
    for (auto& part : *content)
      if (part.is_object()) offer(part, "text");
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return;
  for (auto& call : *calls) {
    if (!call.is_object()) continue;
    const auto function = call.find("function");
    offer(function != call.end() && function->is_object() ? *function : call, "name");
  }
}

/// Parses JSON and keeps the order of its keys. Throws InputError, whose message begins with
/// `where`, for an integer beyond 64 bits, because a double in its place would be printed as a
/// different number. If the text is not JSON, the result is a discarded value.
nlohmann::ordered_json parse_in_order(std::string_view json, std::string_view where);

}  // namespace rollcall::text
