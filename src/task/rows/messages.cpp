// Brings messages and tools into the form that chat templates expect.
#include "task/rows/messages.hpp"

#include "base/errors/nearest.hpp"
#include "base/errors/visible.hpp"
#include "base/text/foreign_json.hpp"
#include "text/answer/answer_text.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace rollcall::task {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kWhy =
    "a conversation is a list of {\"role\": ..., \"content\": ...}, the content being text or a list of parts, each with a type or a text";
constexpr const char* kWhyNoMedia =
    "the program shows a model text alone, so that it would be asked without it";
constexpr const char* kMedia[] = {"image", "audio", "video"};

/// The roles that chat templates of public models know.
const std::vector<std::string>& roles() {
  static const std::vector<std::string> all{
      "system",  "developer",   "user",        "assistant",       "tool",     "function",
      "ipython", "observation", "environment", "latest_reminder", "document", "context"};
  return all;
}

/// Whether a name is that of an image, a sound or a video, such as image_url or input_audio.
bool names_medium(std::string_view name) {
  return std::any_of(std::begin(kMedia), std::end(kMedia), [&](const char* medium) {
    return name.find(medium) != std::string_view::npos;
  });
}

/// Whether a value can be an image, a sound or a video, or the place of one.
template <class Value>
bool is_medium(const Value& value) {
  if (value.is_string()) return !value.template get_ref<const std::string&>().empty();
  return value.is_structured() && !value.empty();
}

/// Refuses a message or a part (`what`) with an image, a sound or a video.
void refuse_media(const Json& object, const std::string& what, const Line& line) {
  for (const auto& [key, value] : object.items()) {
    const bool is_type =
        key == "type" && value.is_string() && names_medium(value.get_ref<const std::string&>());
    if (!is_type && (!names_medium(key) || !is_medium(value))) continue;
    const std::string medium = is_type ? value.get<std::string>() : std::string(key);
    line.require_that(false, fmt::format("{} holds {}", what, visible(brief(medium, 40))),
                      kWhyNoMedia, "remove the line");
  }
}

/// Refuses parts that are not text. What a tool gave is the template's affair, except for media.
void check_parts(const Json& content, std::size_t message, bool is_of_tool, const Line& line) {
  if (!content.is_array()) return;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const Json& part = content[i];
    refuse_media(part, fmt::format("part {} of message {}", i + 1, message), line);
    line.require_that(is_of_tool || (part.contains("text") && part["text"].is_string()),
                      fmt::format("part {} of message {} is of the type {} and has no text", i + 1,
                                  message, visible(brief(part["type"].dump(), 40))),
                      "chat templates show the text of a part",
                      "write [{\"type\": \"text\", \"text\": ...}], or remove the line");
  }
}

void check_role(const Json& item, std::size_t message, const Line& line) {
  const auto& role = item["role"].get_ref<const std::string&>();
  if (std::find(roles().begin(), roles().end(), role) != roles().end()) return;
  line.require_that(
      false,
      fmt::format("message {} has the unknown role \"{}\"", message, visible(brief(role, 40))),
      "chat templates drop such a message, or show it in a form that no model knows",
      suggest_name(role, roles()));
}

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
    check_role(item, place, line);
    refuse_media(item, fmt::format("message {}", place), line);
    messages.push_back(item);
    const auto content = messages.back().find("content");
    if (content == messages.back().end()) continue;
    *content = parts_of(*content);
    line.require_that(
        is_content(*content, text::is_said_by(item, "assistant")),
        fmt::format("the content of message {} is neither text nor a list of parts", place), kWhy,
        "write the text itself, or [{\"type\": \"text\", \"text\": ...}]");
    check_parts(*content, place,
                text::is_said_by(item, "tool") || text::is_said_by(item, "function"), line);
    line.require_that(
        !text::is_said_by(item, "user") || !text::trim(text::said_in(messages.back())).empty(),
        fmt::format("message {}, of the user, has no text", place),
        "an empty question teaches nothing", "correct or remove the line");
  }
  return messages;
}

void refuse_media_beside(std::string_view said, const nlohmann::json& row, const Line& line) {
  for (const char* name : kMedia) {
    const std::string medium(name);
    for (const std::string& key : {medium, medium + "s"}) {
      const auto value = row.find(key);
      if (value == row.end() || !is_medium(*value)) continue;
      const bool is_marked = said.find("<" + medium + ">") != std::string_view::npos;
      line.require_that(
          !value->is_structured() && !is_marked,
          is_marked ? fmt::format("the text has the mark <{}>, and \"{}\" what stands for it",
                                  medium, key)
                    : fmt::format("\"{}\" holds {} {}", key, value->size(),
                                  value->is_array() ? "entries" : "members"),
          kWhyNoMedia,
          fmt::format("remove the line, or its \"{}\" if the question needs none", key));
    }
  }
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
