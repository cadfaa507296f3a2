// Gives a template its variables, and compares its output for changed conversations.
#include "text/chat/conversation_text.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <algorithm>
#include <iterator>

namespace rollcall::text {
namespace {

using nlohmann::ordered_json;
using Ending = ConversationText::Ending;
constexpr Ending kEndings[] = {Ending::complete, Ending::open};

/// Puts content that is a string into a list with one part.
void give_part(Message& said) {
  const auto content = said.find("content");
  if (content != said.end() && content->is_string())
    *content = ordered_json::array({{{"type", "text"}, {"text", *content}}});
}

/// A different value of the same type.
ordered_json other_than(const ordered_json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_string()) return value.get<std::string>() + "x";
  if (value.is_number()) return value.get<double>() + 1.0;
  return value.is_array() ? ordered_json::array() : ordered_json::object();
}

/// The value that the text holds as JSON, or the text itself.
ordered_json value_of(const std::string& text) {
  auto value = ordered_json::parse(text, nullptr, false);
  return value.is_discarded() ? ordered_json(text) : value;
}

}  // namespace

ConversationText::ConversationText(const TextSection& section, const TextFiles& files,
                                   const std::string& origin)
    : system_(section.system),
      variables_(section.variables),
      special_tokens_(files.special_tokens) {
  const std::string& choice = section.chat_template;
  if (choice == "none") return;
  if (choice != "model") {
    template_.emplace(files.chat_template, choice);
    return;
  }
  template_.emplace(files.chat_template, origin + ", chat template");
  if (!files.tool_template.empty() && files.tool_template != files.chat_template)
    tool_template_.emplace(files.tool_template, origin + ", chat template for tools");
}

void ConversationText::find_content_form(const Conversation& question, std::string_view answer) {
  const std::string words = question.messages.front()["content"];
  Conversation talk = question;
  talk.messages.push_back(message("assistant", answer));
  const auto shows_both = [&] {
    try {
      const std::string text = render(talk, Ending::complete);
      const std::size_t asked = text.find(words);
      return asked != std::string::npos &&
             text.find(answer, asked + words.size()) != std::string::npos;
    } catch (const InputError&) {
      return false;
    }
  };
  if (shows_both()) return;
  takes_parts_ = true;
  takes_parts_ = shows_both();
}

ordered_json ConversationText::variables(const Conversation& conversation, Ending ending) const {
  ordered_json all{{"messages", ordered_json::array()},
                   {"tools", nullptr},
                   {"documents", nullptr},
                   {"add_generation_prompt", ending == Ending::open}};
  const auto& messages = conversation.messages;
  const bool has_system = !messages.empty() && is_said_by(messages.front(), "system");
  if (!has_system && !system_.empty()) all["messages"].push_back(message("system", system_));
  for (const auto& said : messages) all["messages"].push_back(said);
  if (takes_parts_)
    for (auto& said : all["messages"]) give_part(said);
  for (const auto& [name, token] : special_tokens_) all[name] = token;
  for (const auto& [name, value] : variables_) all[name] = value_of(value);
  for (const auto& [name, value] : conversation.variables.items()) all[name] = value;
  return all;
}

std::string ConversationText::render(const Conversation& conversation, Ending ending) const {
  require(template_.has_value(), "a conversation was given, but there is no chat template",
          "how its messages become one text is not known",
          "set text.template to model or to a .jinja file");
  const auto tools = conversation.variables.find("tools");
  const bool has_tools =
      tool_template_ && tools != conversation.variables.end() && !tools->is_null();
  return (has_tools ? *tool_template_ : *template_).render(variables(conversation, ending));
}

bool ConversationText::reads_clock(const Conversation& conversation) const {
  return template_ && template_->reads_clock(variables(conversation, Ending::open));
}

bool ConversationText::reads(const Conversation& conversation, const std::string& key,
                             bool of_messages) const {
  const auto differs = [&](const Conversation& other) {
    return std::any_of(std::begin(kEndings), std::end(kEndings), [&](Ending ending) {
      return render(other, ending) != render(conversation, ending);
    });
  };
  Conversation without = conversation, changed = conversation;
  const auto change = [&](Message& erased, Message& replaced) {
    const auto value = replaced.find(key);
    if (value == replaced.end()) return;
    // If a message has the same thoughts under several names, the template shows any one of them in
    // place of the others, so all of them are erased.
    if (of_messages &&
        std::find(std::begin(kThoughtKeys), std::end(kThoughtKeys), key) != std::end(kThoughtKeys))
      for (const char* name : kThoughtKeys)
        if (erased.contains(name) && erased[name] == *value) erased.erase(name);
    erased.erase(key);
    *value = other_than(*value);
  };
  if (!of_messages) change(without.variables, changed.variables);
  else
    for (std::size_t i = 0; i < conversation.messages.size(); ++i)
      change(without.messages[i], changed.messages[i]);
  try {
    return differs(without) || differs(changed);
  } catch (const InputError&) {
    return true;  // the template requires the key
  }
}

}  // namespace rollcall::text
