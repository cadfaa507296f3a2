// Finds the assistant's turns in the text that a chat template makes from a conversation.
#pragma once

#include "text/chat/conversation.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// Places of a turn, in bytes of the rendered text.
struct AssistantTurn {
  std::size_t message = 0;  ///< index of the message
  /// The beginning of the assistant's own words. The head of the turn comes before it. The model is
  /// given the head and is not trained on it.
  std::size_t begin = 0;
  /// The end of the assistant's last words. If it calls a function, only the function's name counts
  /// as words.
  std::size_t words = 0;
  /// The end of everything that the assistant says. It is after the rest of a call, or equal to
  /// `words` if there is no call.
  std::size_t end = 0;
  /// The end of the text that closes the turn; `words` if the template does not show what follows
  /// the turn.
  std::size_t tail = 0;
  /// The beginning of the part before `tail` that belongs to the next speaker, as far as that is
  /// known.
  std::size_t next = 0;
};

/// The text that the template puts around the answer to a question: the head before it, when it is
/// the assistant's turn, and the end after it.
struct UsualTurn {
  std::string head, end;
};

/// Returns the text of messages, with the head of the assistant's next turn if `open`. Throws
/// InputError if the template refuses them.
using RenderMessages = std::function<std::string(std::span<const Message> messages, bool open)>;

/// Finds the turns in `text`, which is render(messages, false). A template may strip what is said,
/// drop or move thoughts, or show earlier turns differently, so a turn cannot be found by searching
/// for its words. Instead each turn is rendered again with marks in place of the speaker's words.
/// The text before and after the marks is then the text before and after the words. Throws
/// InputError for a turn that the template leaves out, or that changes how the template shows the
/// others.
std::vector<AssistantTurn> assistant_turns(std::string_view text, std::span<const Message> messages,
                                           const UsualTurn& usual, const RenderMessages& render);

}  // namespace rollcall::text
