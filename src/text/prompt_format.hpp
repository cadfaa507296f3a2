// The one place that turns a prompt into tokens, a worked answer into tokens to learn, and knows what ends an answer.
#pragma once

#include "core/plan.hpp"
#include "core/run_config.hpp"
#include "text/chat_template.hpp"
#include "text/text_files.hpp"
#include "text/tokenizer.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::text {

struct Message {
  std::string role, content;
  bool operator==(const Message&) const = default;
};

/// An example to learn from.
struct Supervised {
  std::vector<std::int32_t> tokens;
  std::vector<std::pair<std::int64_t, std::int64_t>> learnt;  ///< stretches [first, second) of `tokens`, ascending: what the assistant says and the ends of it
};

class PromptFormat {
 public:
  /// `folder`: where the model's text files are; one without tokenizer.json, or an empty path, has none. Throws ConfigError for settings that do not fit the
  /// folder or each other, InputError for its files.
  PromptFormat(const TextSection& section, const std::filesystem::path& folder);
  /// The same from text files in memory; `origin` is named in messages.
  PromptFormat(const TextSection& section, TextFiles files, const std::string& origin);

  const TextSection& section() const { return section_; }  ///< with what "auto" came to
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return files_.tokenizer; }
  bool is_chat() const { return template_.has_value(); }
  const std::string& chat_template() const { return files_.chat_template; }          ///< of a chat: the text, wherever it is from
  const std::vector<std::int32_t>& end_tokens() const { return files_.end_tokens; }  ///< any of them ends an answer
  const SuggestedSampling& suggested() const { return files_.suggested; }
  std::optional<std::int64_t> rows() const { return files_.rows; }  ///< see TextFiles
  /// Hex digest of tokenizer, template, and a prompt as they render it; empty where prompts are the task's own text and the tokenizer is built in.
  std::string fingerprint() const;
  bool reads_clock() const;  ///< the template writes the date or time into a prompt: another day's prompts are others

  // A prompt is the task's text in text.user's place for it: one message of a chat, white space at its ends aside, or the text itself without a template.
  // `opening`: how the answer begins, behind text.assistant_prefix and as little learnt.
  std::string prompt_text(std::string_view prompt, std::string_view opening = {}) const;  ///< what the policy sees, special tokens spelt out
  std::vector<std::int32_t> prompt_tokens(std::string_view prompt, std::string_view opening = {}) const;
  /// Prompt and worked answer: the tokens of the prompt, then those to learn, which end as the template ends an answer.
  Supervised supervised(std::string_view prompt, std::string_view solution, std::string_view opening = {}) const;

  std::span<const std::int32_t> spoken(std::span<const std::int32_t> tokens) const;  ///< without the end token that closes them
  /// What the policy said: without special tokens, and without the end token even where the tokenizer does not call it special.
  std::string answer_text(std::span<const std::int32_t> tokens) const;

  // Conversations; text.system goes before one that has no system message. Throw InputError without a template.
  std::vector<std::int32_t> chat_tokens(std::span<const Message> messages) const;          ///< up to where the assistant speaks next
  std::vector<std::int32_t> conversation_tokens(std::span<const Message> messages) const;  ///< the whole, where nobody speaks next
  /// Everything the assistant says is learnt, but for text.assistant_prefix, which goes before an answer that does not begin with it. Throws InputError where
  /// the template shows earlier answers in other words than it was given, so that what is learnt cannot be told.
  Supervised supervised(std::span<const Message> messages) const;

 private:
  enum class Turn { complete, open };
  nlohmann::ordered_json variables(std::span<const Message> messages, Turn turn) const;
  std::string render(std::span<const Message> messages, Turn turn) const;
  std::string asked(std::string_view prompt) const;
  std::vector<Message> messages_of(std::string_view prompt) const;
  void choose_template(const std::string& origin);
  void find_answer_marks();
  std::string_view end_token_at(std::string_view text, std::size_t at) const;  ///< the end token spelt out there, white space before it aside; empty: none
  bool has_end_token(std::string_view text) const;
  /// Where of `text` the words of messages[i] are, what the assistant is given aside; `done`: where the answer before them ends.
  struct Answer {
    std::size_t begin, end;
  };
  Answer find_answer(std::string_view text, std::span<const Message> messages, std::size_t i, std::size_t done) const;

  TextSection section_;
  TextFiles files_;
  std::optional<ChatTemplate> template_;
  std::vector<std::string> end_texts_;  ///< of the end tokens
  std::string answer_begin_;            ///< what the template puts before an answer where the assistant is to speak
  std::string answer_end_;              ///< what the template puts behind an answer, up to an end token; empty: it puts none, and the tokenizer's eos ends it
};

/// What the model's makers suggest where this run does otherwise, in one line; empty where they suggest nothing or the same.
std::string differing_suggestion(const SuggestedSampling& suggested, const SamplingParams& sampling);

}  // namespace rollcall::text
