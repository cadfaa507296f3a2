// The one place that turns a prompt into tokens, a worked answer into tokens to learn, and knows
// what ends an answer.
#pragma once

#include "core/plan.hpp"
#include "core/run_config.hpp"
#include "text/chat/chat_template.hpp"
#include "text/tokenizer/text_files.hpp"
#include "text/tokenizer/tokenizer.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
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

struct Conversation;

/// An example to learn from.
struct Supervised {
  std::vector<std::int32_t> tokens;
  /// stretches [first, second) of `tokens`, ascending: what the assistant says and the ends of it
  std::vector<std::pair<std::int64_t, std::int64_t>> learnt;
};

class PromptFormat {
 public:
  /// `folder`: where the model's text files are; one without tokenizer.json, or an empty path, has
  /// none. Throws ConfigError for settings that do not fit the folder or each other, InputError for
  /// its files.
  PromptFormat(const TextSection& section, const std::filesystem::path& folder);
  /// The same from text files in memory; `origin` is named in messages.
  PromptFormat(const TextSection& section, TextFiles files, const std::string& origin);

  const TextSection& section() const { return section_; }  ///< with what "auto" came to
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return files_.tokenizer; }
  bool is_chat() const { return template_.has_value(); }
  /// of a chat: the text, wherever it is from
  const std::string& chat_template() const { return files_.chat_template; }
  /// any of them ends an answer
  const std::vector<std::int32_t>& end_tokens() const { return files_.end_tokens; }
  const SuggestedSampling& suggested() const { return files_.suggested; }
  std::optional<std::int64_t> rows() const { return files_.rows; }  ///< see TextFiles
  /// Hex digest of tokenizer, template, and a prompt as they render it; empty where prompts are the
  /// task's own text and the tokenizer is built in.
  std::string fingerprint() const;
  bool reads_clock() const;  ///< the template writes the date or time into a prompt: another day's
                             ///< prompts are others

  // A prompt is the task's text in text.user's place for it: one message of a chat, white space at
  // its ends aside, or the text itself without a template.
  // `opening`: how the answer begins, behind text.assistant_prefix and as little learnt.
  /// what the policy sees, special tokens spelt out
  std::string prompt_text(std::string_view prompt, std::string_view opening = {}) const;
  std::vector<std::int32_t> prompt_tokens(std::string_view prompt,
                                          std::string_view opening = {}) const;
  /// Prompt and worked answer: the tokens of the prompt, then those to learn, which end as the
  /// template ends an answer.
  Supervised supervised(std::string_view prompt, std::string_view solution,
                        std::string_view opening = {}) const;

  /// without the end token that closes them
  std::span<const std::int32_t> spoken(std::span<const std::int32_t> tokens) const;
  /// What the policy said, special tokens that a text can spell (tags of a thought, of an answer)
  /// included; only the end token that closes it is left out.
  std::string answer_text(std::span<const std::int32_t> tokens) const;
  /// What the template ends an answer with where that is a special token but no end token, so that
  /// sampling goes on behind it. Else empty.
  const std::string& unknown_end() const { return unknown_end_; }
  /// What to set about unknown_end(), in one sentence; empty where there is nothing to set, or one
  /// of `stops` stops there.
  std::string missing_end(const std::vector<std::string>& stops) const;

  /// A variable of text.variables that no template mentions, as a message; empty: there is none.
  std::string unread_variable() const;

  // Conversations; text.system goes before one that has no system message. Throw InputError without
  // a template.
  /// Up to where the assistant speaks next.
  std::vector<std::int32_t> chat_tokens(const Conversation& conversation) const;
  /// The whole, where nobody speaks next.
  std::vector<std::int32_t> conversation_tokens(const Conversation& conversation) const;
  /// Everything the assistant says is learnt, each turn with what ends it, but for
  /// text.assistant_prefix, which goes before an answer that does not begin with it. Throws
  /// InputError where what is learnt cannot be told (text/chat/assistant_turns.hpp).
  Supervised supervised(const Conversation& conversation) const;
  /// Whether the template makes another text of the conversation, or of it with the head of a next
  /// turn, without this key of its messages (`of_messages`) or of its variables, or with another
  /// value in its place.
  bool reads(const Conversation& conversation, const std::string& key, bool of_messages) const;

 private:
  enum class Turn { complete, open };
  static constexpr Turn kTurns[] = {Turn::complete, Turn::open};
  struct Closing {
    std::size_t begin, end;  ///< of a text; nothing closes where they are equal
  };
  nlohmann::ordered_json variables(const Conversation& conversation, Turn turn) const;
  std::string render(const Conversation& conversation, Turn turn) const;
  std::string asked(std::string_view prompt) const;
  Conversation asking(std::string_view prompt) const;
  void choose_template(const std::string& origin);
  void find_answer_marks();
  /// The first end token that is spelt out in text[from..to). Else, with `any_special`, the special
  /// token there that only white space is before. Where `to` is `from`, it is not known where the
  /// next turn begins, and only white space may stand before an end token.
  Closing closing(std::string_view text, std::size_t from, std::size_t to, bool any_special) const;
  /// How the special token is spelt that the text begins with; empty: it begins with none.
  std::string special_at(std::string_view text) const;
  Conversation with_prefix(Conversation conversation) const;

  TextSection section_;
  TextFiles files_;
  std::optional<ChatTemplate> template_;
  /// For conversations with tools, where it is another one.
  std::optional<ChatTemplate> tool_template_;
  bool reads_parts_ = false;            ///< the template takes content as a list of parts alone
  std::vector<std::string> end_texts_;  ///< of the end tokens
  /// What the template puts before an answer where the assistant is to speak.
  std::string answer_begin_;
  /// What the template puts behind an answer, up to what ends it; empty: nothing does, and the
  /// tokenizer's eos ends it.
  std::string answer_end_;
  std::string unknown_end_;
  std::optional<std::int32_t> turn_end_;  ///< the token of unknown_end_
};

/// What the model's makers suggest where this run does otherwise, in one line; empty where they
/// suggest nothing or the same.
std::string differing_suggestion(const SuggestedSampling& suggested,
                                 const SamplingParams& sampling);

}  // namespace rollcall::text
