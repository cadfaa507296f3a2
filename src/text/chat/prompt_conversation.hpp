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
/// What a message says: its content, or the text of its parts, one line each. Empty if it says
/// nothing.
std::string said_in(const Message& message);
/// All that a conversation says, in words, for models without a chat template and for people: a
/// single question is just its text; a system message and tools precede it as paragraphs; if there
/// are several turns, each begins with its role and a colon.
std::string in_words(const Conversation& conversation);

/// Replaces what the user says last, in a written conversation, by what change() returns for it.
/// Throws InputError.
std::string asked_last(std::string_view written,
                       const std::function<std::string(std::string_view)>& change);
/// The same for a Conversation, in place.
void change_last(Conversation& conversation,
                 const std::function<std::string(std::string_view)>& change);

}  // namespace rollcall::text
