// Reads examples of both kinds, conversations and prompts with answers, which one file may mix.
#include "task/examples.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "task/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace rollcall::task {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kWhy =
    "a conversation is a list of {\"role\": ..., \"content\": ...}, the content being text or a list of parts, each with a type or a text";

bool is_part(const Json& part) { return part.is_object() && part.contains("type"); }

/// Content as the list of parts that transformers' templates take: a single object becomes a list
/// of it, and a part with text but no type is of type text.
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

/// Whether a message may have this content: text, null, parts or, unless the message is learnt, an
/// object that a tool returned.
bool is_content(const Json& content, bool is_learnt) {
  return content.is_string() || content.is_null() ||
         (content.is_array() && std::all_of(content.begin(), content.end(), is_part)) ||
         (content.is_object() && !is_learnt);
}

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
  line.require_that(std::any_of(messages.begin(), messages.end(),
                                [](const auto& m) { return text::is_said_by(m, "assistant"); }),
                    "the assistant says nothing", "only what it says is learnt", "remove the line");
  return messages;
}

/// The tools: a list, or the JSON text of one, as files with one type per column store them.
Json tools_of(const Json& given, const Line& line) {
  const Json tools = given.is_string()
                         ? text::parse_in_order(given.get_ref<const std::string&>(),
                                                fmt::format("{}:{}: tools", line.file, line.number))
                         : given;
  line.require_that(tools.is_array() || tools.is_null(), "\"tools\" is not a list",
                    "the chat template shows each of them to the model",
                    "write a list of {\"type\": \"function\", \"function\": {...}}");
  return tools;
}

text::Conversation conversation(const Json& object, const std::string& messages_key,
                                const Line& line) {
  text::Conversation talk{messages_of(object.at(messages_key), line)};
  for (const auto& [key, value] : object.items()) {
    if (key == "tools") talk.variables[key] = tools_of(value, line);
    else if (key == "documents") talk.variables[key] = value;
    if (key != "chat_template_kwargs" || value.is_null()) continue;
    line.require_that(value.is_object(), "\"chat_template_kwargs\" is not an object",
                      "its members are variables of the chat template",
                      "write {\"enable_thinking\": false} or the like");
    for (const auto& [name, variable] : value.items()) {
      line.require_that(name != "messages" && name != "add_generation_prompt",
                        fmt::format("\"chat_template_kwargs\" sets {}", name),
                        "it is what examples are made of", "remove it");
      talk.variables[name] = name == "tools" ? tools_of(variable, line) : variable;
    }
  }
  return talk;
}

/// Notes the keys of a line that are not among those used.
void note_unused(const nlohmann::json& object, std::initializer_list<std::string_view> used,
                 const Line& line, ExampleSet& set) {
  for (const auto& [key, value] : object.items())
    if (!value.is_null() && std::find(used.begin(), used.end(), key) == used.end())
      set.unused.emplace(key, line.number);
}

/// The key that the section names, or the first of two usual ones that the object has.
std::string key_of(const nlohmann::json& object, const std::string& named, const char* first,
                   const char* second) {
  if (!named.empty()) return named;
  return object.contains(second) && !object.contains(first) ? second : first;
}

}  // namespace

ExampleSet read_examples(const SftSection& section) {
  ExampleSet set;
  std::vector<std::size_t> of_answers;
  set.hash = Sha256().add(read_file(section.file)).hex();
  each_json_line(section.file, [&](const nlohmann::json& object, const Line& line) {
    if (object.contains(section.messages_key)) {
      const Json whole =
          text::parse_in_order(line.text, fmt::format("{}:{}", line.file, line.number));
      set.conversations.push_back(conversation(whole, section.messages_key, line));
      set.lines.push_back(line.number);
      note_unused(object, {section.messages_key, "tools", "documents", "chat_template_kwargs"},
                  line, set);
      return;
    }
    const auto prompt_key = key_of(object, section.prompt_key, "prompt", "question"),
               answer_key = key_of(object, section.answer_key, "answer", "completion");
    const auto prompt = text_at(object, prompt_key, "sft.prompt_key or sft.messages_key", line);
    set.answers.emplace_back(prompt, text_at(object, answer_key, "sft.answer_key", line));
    note_unused(object, {prompt_key, answer_key}, line, set);
    of_answers.push_back(line.number);
  });
  set.lines.insert(set.lines.end(), of_answers.begin(), of_answers.end());
  require(set.size() > 0, fmt::format("{} holds no example", section.file),
          "there is nothing to learn", "name a file with one JSON object a line");
  return set;
}

}  // namespace rollcall::task
