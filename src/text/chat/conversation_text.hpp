// A conversation as the single text that a model's chat template makes from it.
#pragma once

#include "core/run_config.hpp"
#include "text/chat/chat_template.hpp"
#include "text/chat/conversation.hpp"
#include "text/tokenizer/text_files.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::text {

class ConversationText {
 public:
  /// Whether the text ends with the last message, or with the head of the assistant's next turn.
  enum class Ending { complete, open };

  /// `section.chat_template` is "none", "model" for the templates of `files`, or else the path from
  /// which `files.chat_template` was read. Throws InputError for a template that cannot be parsed.
  ConversationText(const TextSection& section, const TextFiles& files, const std::string& origin);

  bool has_template() const { return template_.has_value(); }
  bool has_tool_template() const { return tool_template_.has_value(); }

  /// Finds out whether the template accepts content only as a list of parts, as templates for
  /// models with image input may. That is the case if it shows a question and its answer only in
  /// that form.
  void find_content_form(const Conversation& question, std::string_view answer);

  /// The text, which begins with the system message of the run if the conversation has none. Throws
  /// InputError if there is no template, or if the template refuses the conversation.
  std::string render(const Conversation& conversation, Ending ending) const;
  /// Whether the text of the conversation, with or without the head of a next turn, depends on a
  /// key in its messages (`of_messages`) or in its variables: without the key, or with another
  /// value for it, the text differs or the template refuses the conversation.
  bool reads(const Conversation& conversation, const std::string& key, bool of_messages) const;
  /// Whether the text depends on the day or time.
  bool reads_clock(const Conversation& conversation) const;

 private:
  nlohmann::ordered_json variables(const Conversation& conversation, Ending ending) const;

  std::optional<ChatTemplate> template_;
  std::optional<ChatTemplate> tool_template_;  // for conversations with tools, if they have a
                                               // different template
  std::string system_;                         // text.system
  std::vector<std::pair<std::string, std::string>> variables_;  // text.variables, values as JSON
  std::map<std::string, std::string> special_tokens_;
  bool takes_parts_ = false;
};

}  // namespace rollcall::text
