// Changes messages one at a time, and keeps the order of keys, because templates print objects.
#include "text/chat/template_messages.hpp"

#include "base/text/json.hpp"

namespace rollcall::text {
namespace {

using Json = nlohmann::ordered_json;

Json without_nulls(const Json& message) {
  Json kept = Json::object();
  for (const auto& [key, value] : message.items())
    if (!value.is_null()) kept[key] = value;
  return kept;
}

/// The message with its thought under `reasoning_content` and `thinking`. `thinking` becomes the
/// first key, and keeps its value if the message has one under that key.
Json with_thought(const Json& message) {
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const auto found = message.find(name);
    if (found == message.end()) continue;
    const Json thought = *found;
    Json all{{"thinking", thought}};
    for (const auto& [key, value] : message.items()) all[key] = value;
    all["reasoning_content"] = thought;
    return all;
  }
  return message;
}

}  // namespace

Json template_messages(const Json& messages) {
  if (!messages.is_array()) return messages;
  Json out = Json::array();
  for (const auto& message : messages)
    out.push_back(message.is_object() ? with_thought(without_nulls(message)) : message);
  return out;
}

}  // namespace rollcall::text
