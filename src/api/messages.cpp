// Which messages a template can show, and their one form.
#include "api/messages.hpp"

#include "base/errors/nearest.hpp"
#include "base/errors/visible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace rollcall::api {
namespace {

using text::Message;

constexpr const char* kUnread[] = {"refusal", "annotations", "audio", "function_call", "index"};
constexpr const char* kFirst[] = {"role", "content", "name", "tool_calls", "tool_call_id"};

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_text(const Message& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string();
}

Message normal_content(const Message& content) {
  if (!content.is_array()) return content;
  std::string text;
  for (const Message& part : content) {
    if (!part.is_object() || !is_text(part, "text")) return content;
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

Message normal_call(const Message& call) {
  if (!call.is_object()) return call;
  Message normal = Message::object();
  for (const char* key : {"id", "type"})
    if (const auto at = call.find(key); at != call.end() && !at->is_null()) normal[key] = *at;
  const auto function = call.find("function");
  if (function == call.end() || !function->is_object()) return normal;
  Message& said = normal["function"] = Message::object();
  for (const char* key : {"name", "arguments"})
    if (const auto at = function->find(key); at != function->end()) said[key] = *at;
  return normal;
}

Message normal_value(std::string_view key, const Message& value) {
  if (key == "content") return normal_content(value);
  if (key == "role" && value == "developer") return "system";
  if (key != "tool_calls" || !value.is_array()) return value;
  Message calls = Message::array();
  for (const Message& call : value) calls.push_back(normal_call(call));
  return calls;
}

std::string fault_of_content(const Message& content) {
  if (content.is_string()) return {};
  if (!content.is_array()) return "its content is neither a text nor a list of parts";
  for (const Message& part : content) {
    if (!part.is_object() || !is_text(part, "type")) return "a part of its content has no type";
    const auto& type = part["type"].get_ref<const std::string&>();
    if (type != "text")
      return fmt::format("its content has a part of type \"{}\", and this model reads text alone",
                         visible(brief(type, 40)));
    if (!is_text(part, "text")) return "a part of its content has no text";
  }
  return {};
}

std::string fault_of_calls(const Message& calls) {
  if (!calls.is_array() || calls.empty()) return "its tool_calls are no list with a call";
  for (const Message& call : calls) {
    if (!call.is_object() || !is_text(call, "id")) return "a call of a tool has no id";
    if (is_text(call, "type") && call["type"] != "function")
      return "a call of a tool has another type than function";
    const auto function = call.find("function");
    if (function == call.end() || !function->is_object() || !is_text(*function, "name") ||
        !is_text(*function, "arguments"))
      return "a call of a tool has no function with name and arguments, which are texts";
  }
  return {};
}

std::string fault_of_message(const Message& message) {
  static const std::vector<std::string> kRoles = {"system", "developer", "user", "assistant",
                                                  "tool"};
  if (!message.is_object()) return "it is no object";
  if (!is_text(message, "role")) return "it has no role, which is a text";
  const auto& role = message["role"].get_ref<const std::string&>();
  if (!is_among(kRoles, role))
    return fmt::format("there is no role \"{}\"; {}", visible(brief(role, 40)),
                       suggest_name(role, kRoles));
  const auto at = message.find("tool_calls"), content = message.find("content");
  const bool calls = at != message.end() && !at->is_null();
  if (calls && role != "assistant") return "only the assistant calls tools";
  if (calls)
    if (std::string fault = fault_of_calls(*at); !fault.empty()) return fault;
  if (content == message.end() || content->is_null()) {
    if (!calls) return "it has no content";
  } else if (std::string fault = fault_of_content(*content); !fault.empty()) {
    return fault;
  }
  if (role == "tool" && !is_text(message, "tool_call_id"))
    return "it has no tool_call_id, and a tool answers a call";
  return {};
}

}  // namespace

Message normal_message(const Message& message) {
  if (!message.is_object()) return message;
  std::map<std::string, Message> others;  // in the order of their names
  for (const auto& [key, value] : message.items())
    if (!value.is_null() && !is_among(kUnread, key)) others[key] = normal_value(key, value);
  Message normal = Message::object();
  for (const char* key : kFirst)
    if (auto taken = others.extract(key)) normal[key] = std::move(taken.mapped());
  for (auto& [key, value] : others) normal[key] = std::move(value);
  return normal;
}

std::string fault_of_messages(const Message& messages) {
  if (!messages.is_array() || messages.empty()) return "messages is no list with a message";
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (const std::string fault = fault_of_message(messages[i]); !fault.empty())
      return fmt::format("messages[{}] cannot be read: {}", i, fault);
  return {};
}

}  // namespace rollcall::api
