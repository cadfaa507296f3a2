// The tokens between two turns of the policy: another author's words and the tokens that a chat
// template puts around them. Tokens that the policy sampled are never tokenised again.
#pragma once

#include "text/chat/prompt_format.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// One message between two turns.
struct Said {
  std::string_view role;  ///< user or tool
  std::string_view text;
};

/// Throws InputError naming text.template if it does not show tools. `tools`: JSON list of
/// functions.
void require_tools(const PromptFormat& format, const std::string& tools);

/// The object is immutable, and any thread may call its functions.
class TurnTexts {
 public:
  /// Renders conversations with marks in place of turns and of other words, and learns what the
  /// template puts between them. `role`: role of the messages to come; `tools`: JSON list of
  /// functions, empty if there are none. Throws InputError naming the template if it shows an
  /// earlier turn differently once messages follow it (the reason, and what to set:
  /// environment.role, text.template or text.variables), if it does not show messages of that role,
  /// or if it does not show tools. White space at the ends of an answer, which some templates trim,
  /// does not count as a difference. Without a template, messages are inserted unchanged, each with
  /// a line feed before and after it.
  TurnTexts(const PromptFormat& format, std::string role, const std::string& tools);

  const std::string& role() const { return role_; }  ///< role of the messages to come
  /// The tokens from the end of a policy turn to the beginning of its next one. `turn`: its sampled
  /// tokens. If the last one is not the end token that the template writes, the template's end
  /// comes first. Special tokens that a message spells out are removed (text/answer/fill.hpp).
  /// Takes time linear in the length of the messages.
  std::vector<std::int32_t> between(std::span<const std::int32_t> turn,
                                    std::span<const Said> messages) const;
  /// The text of a policy turn as environments and verifiers read it.
  std::string action_text(std::span<const std::int32_t> turn) const;

  /// How a template shows the words of a message.
  enum class Shown { as_it_is, trimmed, json };
  /// The texts around messages.
  struct Around {
    std::string end;     ///< end of the policy's turn, up to its end token
    std::string before;  ///< what comes before the first message
    std::string after;   ///< what comes after the last message, up to where the policy speaks
    /// What comes between two messages; if empty, the template takes one message at a time, and
    /// several are shown as one, with line feeds between them.
    std::optional<std::string> joint{};
    Shown shown = Shown::as_it_is;
  };

 private:
  const PromptFormat* format_;
  std::string role_;
  Around around_;
  std::optional<std::int32_t> end_token_{};  ///< the end token that `around_.end` ends with
};

}  // namespace rollcall::text
