// Prompts that are more than one question: a system message, earlier turns or tools, as a row of a
// question file may have them.
#pragma once

#include "text/chat/conversation.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace rollcall::text {

/// The conversation as Prompt::conversation holds it: JSON with "messages" and, if there are any,
/// the template's variables ("tools").
std::string written_conversation(const Conversation& conversation);
/// The conversation in such a string. Throws InputError for any other form.
Conversation read_conversation(std::string_view written);

/// Whether the conversation is one message of the user with plain text and without variables, so
/// that the text alone says everything.
bool is_one_question(const Conversation& conversation);
/// The words of a message: its content, or the text of its parts, one line each. Empty if there are
/// none.
std::string said_in(const Message& message);
/// The whole conversation in words, for people and for models without a chat template. A single
/// question is just its text. A system message and tools precede it as paragraphs. If there are
/// several turns, each begins with its role and a colon.
std::string in_words(const Conversation& conversation);

/// Replaces the user's last words in a written conversation by what change() returns for them.
/// Throws InputError.
std::string asked_last(std::string_view written,
                       const std::function<std::string(std::string_view)>& change);
/// The same for a Conversation, in place.
void change_last(Conversation& conversation,
                 const std::function<std::string(std::string_view)>& change);

}  // namespace rollcall::text
