// Brings messages and tools into the form that chat templates expect.
#include "task/rows/messages.hpp"

#include "base/text/foreign_json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::task {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kWhy =
    "a conversation is a list of {\"role\": ..., \"content\": ...}, the content being text or a list of parts, each with a type or a text";

bool is_part(const Json& part) { return part.is_object() && part.contains("type"); }

/// Content as the list of parts that templates of the transformers library expect: a single object
/// becomes a list of one, and a part with text but no type gets the type text.
Json parts_of(const Json& content) {
  const auto typed = [](const Json& part) {
    if (part.is_string()) return Json{{"type", "text"}, {"text", part}};
    if (!part.is_object() || part.contains("type") || !part.contains("text") ||
        !part["text"].is_string())
      return part;
    Json all{{"type", "text"}};
    for (const auto& [key, value] : part.items()) all[key] = value;
    return all;
  };
  if (content.is_object()) return is_part(typed(content)) ? Json::array({typed(content)}) : content;
  if (!content.is_array()) return content;
  Json parts = Json::array();
  for (const auto& part : content) parts.push_back(typed(part));
  return parts;
}

/// Whether a message may have this content: text, null, parts or, unless the message is trained on,
/// an object that a tool returned.
bool is_content(const Json& content, bool is_learnt) {
  return content.is_string() || content.is_null() ||
         (content.is_array() && std::all_of(content.begin(), content.end(), is_part)) ||
         (content.is_object() && !is_learnt);
}

}  // namespace

std::vector<text::Message> messages_of(const Json& list, const Line& line) {
  line.require_that(list.is_array(), "the conversation is not a list", kWhy,
                    "correct or remove the line");
  std::vector<text::Message> messages;
  for (const auto& item : list) {
    const auto place = messages.size() + 1;
    const bool has_role = item.is_object() && item.contains("role") && item["role"].is_string();
    line.require_that(has_role && (item.contains("content") || item.contains("tool_calls")),
                      fmt::format("message {} is not an object with role and content", place), kWhy,
                      "correct or remove the line");
    messages.push_back(item);
    const auto content = messages.back().find("content");
    if (content == messages.back().end()) continue;
    *content = parts_of(*content);
    line.require_that(
        is_content(*content, text::is_said_by(item, "assistant")),
        fmt::format("the content of message {} is neither text nor a list of parts", place), kWhy,
        "write the text itself, or [{\"type\": \"text\", \"text\": ...}]");
  }
  return messages;
}

Json tools_of(const Json& given, const Line& line) {
  line.require_that(!given.is_string() || !outline_of(given.get_ref<const std::string&>()).too_deep,
                    "the brackets of \"tools\" nest too deep", "they are read as JSON",
                    "correct or remove the line");
  const Json tools = given.is_string()
                         ? text::parse_in_order(given.get_ref<const std::string&>(),
                                                fmt::format("{}:{}: tools", line.file, line.number))
                         : given;
  line.require_that(tools.is_array() || tools.is_null(), "\"tools\" is not a list",
                    "the chat template shows each of them to the model",
                    "write a list of {\"type\": \"function\", \"function\": {...}}");
  return tools;
}

}  // namespace rollcall::task
