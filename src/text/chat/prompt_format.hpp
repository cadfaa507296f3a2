// Turns a prompt into tokens, and a worked answer or a conversation into tokens to train on.
#pragma once

#include "core/plan.hpp"
#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "text/chat/answer_ends.hpp"
#include "text/chat/conversation_text.hpp"
#include "text/tokenizer/text_files.hpp"
#include "text/tokenizer/tokenizer.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::text {

/// An example to learn from.
struct Supervised {
  std::vector<std::int32_t> tokens;
  /// Stretches [first, second) of `tokens`, ascending, covering what the assistant says and the
  /// tokens that end its turns.
  std::vector<std::pair<std::int64_t, std::int64_t>> learnt;
};

/// The text of a prompt, with its conversation if it has one. Valid as long as the strings that it
/// refers to exist.
struct Asked {
  Asked(std::string_view question) : text(question) {}
  Asked(const std::string& question) : text(question) {}
  Asked(const char* question) : text(question) {}
  Asked(const Prompt& prompt) : text(prompt.text), conversation(prompt.conversation) {}
  std::string_view text;
  std::string_view conversation{};  ///< as Prompt::conversation; empty if there is none
};

class PromptFormat {
 public:
  /// `folder` has the model's text files. If it is empty, or has no tokenizer.json, there are none.
  /// Throws ConfigError for settings that do not fit the folder or each other, and InputError for
  /// files that cannot be used. `tools`: JSON list of functions that every prompt shows; empty if
  /// there are none.
  PromptFormat(const TextSection& section, const std::filesystem::path& folder,
               const std::string& tools = {});
  /// Takes the model's text files from memory. `origin` is named in messages.
  PromptFormat(const TextSection& section, TextFiles files, const std::string& origin,
               const std::string& tools = {});

  const TextSection& section() const { return section_; }  ///< with "auto" replaced
  /// The text files, with the chat template that is in use, no matter where it comes from, and at
  /// least one end token.
  const TextFiles& files() const { return files_; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return files_.tokenizer; }
  bool is_chat() const { return texts_.has_template(); }
  const ConversationText& conversations() const { return texts_; }
  const AnswerEnds& answer_ends() const { return ends_; }

  /// Hex digest of the tokenizer, the templates, a prompt that they render, and the end tokens. It
  /// is empty if prompts are the task's own text and the tokenizer is built in.
  std::string fingerprint() const;
  /// Whether the template writes the date or time into a prompt, so that prompts differ from day to
  /// day.
  bool reads_clock() const;

  // A prompt is text.user with the task's text inserted. With a template it is one message of a
  // chat, without white space at its ends. Without a template it is the text itself. If the prompt
  // has a conversation and there is a template, the conversation is rendered, and the user's last
  // words are inserted into text.user. `opening` is how the answer begins after
  // text.assistant_prefix. Neither of them is trained on.
  /// What the policy sees, with special tokens spelt out.
  std::string prompt_text(const Asked& prompt, std::string_view opening = {}) const;
  std::vector<std::int32_t> prompt_tokens(const Asked& prompt, std::string_view opening = {}) const;
  /// A prompt and a worked answer. The answer's tokens are trained on, and end as the template ends
  /// an answer.
  Supervised supervised(const Asked& prompt, std::string_view solution,
                        std::string_view opening = {}) const;

  /// The text of what the policy said. Only the end token that closes it is left out. Other special
  /// tokens that text can spell, such as tags of a thought or of an answer, are kept.
  std::string answer_text(std::span<const std::int32_t> tokens) const;

  // The functions below take conversations. text.system comes before a conversation that has no
  // system message. Without a template they throw InputError.
  /// The tokens up to the assistant's next turn. The conversation shows the tools of prompts unless
  /// it has its own.
  std::vector<std::int32_t> chat_tokens(const Conversation& conversation) const;
  /// The tokens of the whole conversation, without the head of another turn.
  std::vector<std::int32_t> conversation_tokens(const Conversation& conversation) const;
  /// A conversation in which everything that the assistant says is trained on, each turn with its
  /// end. Answers that do not begin with text.assistant_prefix get it, and it is not trained on.
  /// Throws InputError if the turns cannot be found (text/chat/assistant_turns.hpp).
  Supervised supervised(const Conversation& conversation) const;

 private:
  Conversation asking(const Asked& prompt) const;
  void learn_turns();

  TextSection section_;
  TextFiles files_;
  AnswerEnds ends_;
  ConversationText texts_;
  Message tools_;  ///< if null, prompts show only the tools of their own conversations
};

/// A message about a variable in text.variables that no template mentions; empty if there is none.
std::string unread_variable(const PromptFormat& format);

/// One line that says where this run's sampling differs from what the model's makers suggest. Empty
/// if they suggest nothing or the same.
std::string differing_suggestion(const SuggestedSampling& suggested,
                                 const SamplingParams& sampling);

}  // namespace rollcall::text
