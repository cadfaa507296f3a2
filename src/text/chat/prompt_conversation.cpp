// Writes and reads the conversations of prompts.
#include "text/chat/prompt_conversation.hpp"

#include "base/errors/error.hpp"
#include "base/text/foreign_json.hpp"
#include "text/answer/answer_text.hpp"

#include <algorithm>
#include <ranges>

namespace rollcall::text {

std::string written_conversation(const Conversation& conversation) {
  Message all{{"messages", conversation.messages}};
  for (const auto& [name, value] : conversation.variables.items()) all[name] = value;
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Conversation read_conversation(std::string_view written) {
  std::string fault;
  auto all = parse_foreign<Message>(written, fault);
  const bool whole = fault.empty() && all.contains("messages") && all["messages"].is_array();
  require(whole, "the conversation of a prompt cannot be read", "it is what the policy is asked",
          "start the run again with this build");
  Conversation conversation;
  for (auto& message : all["messages"]) conversation.messages.push_back(std::move(message));
  for (auto& [name, value] : all.items())
    if (name != "messages") conversation.variables[name] = std::move(value);
  return conversation;
}

bool is_one_question(const Conversation& conversation) {
  if (conversation.messages.size() != 1 || !conversation.variables.empty()) return false;
  const Message& only = conversation.messages.front();
  return only.size() == 2 && is_said_by(only, "user") && only.contains("content") &&
         only["content"].is_string();
}

std::string said_in(const Message& message) {
  const auto content = message.find("content");
  if (content == message.end()) return {};
  if (content->is_string()) return content->get<std::string>();
  std::string all;
  if (content->is_array())
    for (const auto& part : *content)
      if (part.is_object() && part.contains("text") && part["text"].is_string())
        all += (all.empty() ? "" : "\n") + part["text"].get<std::string>();
  return all;
}

std::string in_words(const Conversation& conversation) {
  std::string words;
  const auto add = [&](std::string_view paragraph) {
    if (!trim(paragraph).empty()) words.append(words.empty() ? "" : "\n\n").append(trim(paragraph));
  };
  const auto tools = conversation.variables.find("tools");
  const auto turns = std::ranges::count_if(
      conversation.messages, [](const Message& m) { return !is_said_by(m, "system"); });
  for (const Message& message : conversation.messages) {
    const std::string said = said_in(message);
    const bool named = turns > 1 && !is_said_by(message, "system");
    add(named ? message.value("role", std::string()).append(": ").append(trim(said)) : said);
  }
  if (tools != conversation.variables.end() && tools->is_array() && !tools->empty())
    words = "Tools: " + tools->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
            (words.empty() ? "" : "\n\n" + words);
  return words;
}

void change_last(Conversation& conversation,
                 const std::function<std::string(std::string_view)>& change) {
  for (Message& message : std::views::reverse(conversation.messages)) {
    if (!is_said_by(message, "user")) continue;
    const auto content = message.find("content");
    if (content == message.end()) return;
    if (content->is_string()) *content = change(content->get_ref<const std::string&>());
    else if (content->is_array())
      for (auto& part : std::views::reverse(*content))
        if (part.is_object() && part.contains("text") && part["text"].is_string()) {
          part["text"] = change(part["text"].get_ref<const std::string&>());
          return;
        }
    return;
  }
}

std::string asked_last(std::string_view written,
                       const std::function<std::string(std::string_view)>& change) {
  Conversation conversation = read_conversation(written);
  change_last(conversation, change);
  return written_conversation(conversation);
}

}  // namespace rollcall::text
