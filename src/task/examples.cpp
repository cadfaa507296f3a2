// Reads examples of both kinds, conversations and prompts with answers, which one file may mix.
#include "task/examples.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "task/json_lines.hpp"
#include "task/rows/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace rollcall::task {
namespace {

using Json = nlohmann::ordered_json;

/// The messages of a conversation in which the assistant says something.
std::vector<text::Message> learnt_messages(const Json& list, const Line& line) {
  auto messages = messages_of(list, line);
  line.require_that(std::any_of(messages.begin(), messages.end(),
                                [](const auto& m) { return text::is_said_by(m, "assistant"); }),
                    "the assistant says nothing", "only what it says is learnt", "remove the line");
  return messages;
}

text::Conversation conversation(const Json& object, const std::string& messages_key,
                                const Line& line) {
  text::Conversation talk{learnt_messages(object.at(messages_key), line)};
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

/// Notes the keys of a line that are not in `used`.
void note_unused(const nlohmann::json& object, std::initializer_list<std::string_view> used,
                 const Line& line, ExampleSet& set) {
  for (const auto& [key, value] : object.items())
    if (!value.is_null() && std::find(used.begin(), used.end(), key) == used.end())
      set.unused.emplace(key, line.number);
}

/// The key that the section names or, if none, `second` if the object has that and not `first`,
/// else `first`.
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
      refuse_media_beside(whole.at(section.messages_key).dump(), object, line);
      set.lines.push_back(line.number);
      note_unused(object, {section.messages_key, "tools", "documents", "chat_template_kwargs"},
                  line, set);
      return;
    }
    const auto prompt_key = key_of(object, section.prompt_key, "prompt", "question"),
               answer_key = key_of(object, section.answer_key, "answer", "completion");
    const auto prompt = text_at(object, prompt_key, "sft.prompt_key or sft.messages_key", line);
    refuse_media_beside(prompt, object, line);
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
