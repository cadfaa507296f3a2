// Where in the text that a chat template makes of a conversation the assistant's turns are.
#pragma once

#include "text/chat/conversation.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// A turn in bytes of the rendering.
struct AssistantTurn {
  std::size_t message = 0;  ///< index
  /// Where the assistant speaks: the head of its turn, which it is given, stands before.
  std::size_t begin = 0;
  /// Where the last of its words end; of a function that it calls only the name is its words.
  std::size_t words = 0;
  std::size_t end = 0;  ///< where what it says ends: behind the rest of a call, else `words`
  /// What ends the turn stands before this; `words` where the template does not show what comes
  /// next.
  std::size_t tail = 0;
  /// Where before `tail` the next speaker's part begins, as far as that is known.
  std::size_t next = 0;
};

/// What the template puts around an answer to a question: before it where the assistant is to
/// speak, and behind it.
struct UsualTurn {
  std::string head, end;
};

/// The text of these messages; `open`: with the head of the assistant's next turn. Throws
/// InputError where the template refuses them.
using RenderMessages = std::function<std::string(std::span<const Message> messages, bool open)>;

/// A template may strip what is said, drop thoughts, move them or show earlier turns otherwise, so
/// no turn is looked for by its words. Each one is rendered a second time with marks in place of
/// what its speaker says: what stands before and behind the marks stands before and behind the
/// words, too. `text`: render(messages, false). Throws InputError for a turn that the template
/// leaves out, or that changes what the template shows of the others.
std::vector<AssistantTurn> assistant_turns(std::string_view text, std::span<const Message> messages,
                                           const UsualTurn& usual, const RenderMessages& render);

}  // namespace rollcall::text
