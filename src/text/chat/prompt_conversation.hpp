// Prompts that are more than one question: a system message, earlier turns or tools, as a row of a
// question file may have them.
#pragma once

#include "text/chat/conversation.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace rollcall::text {

/// The conversation as Prompt::conversation holds it: JSON with "messages" and, where there are
/// any, the template's variables beside it ("tools").
std::string written_conversation(const Conversation& conversation);
/// The conversation in such a text. Throws InputError for a text of any other form.
Conversation read_conversation(std::string_view written);

/// Whether the conversation is one message of the user with plain text and without variables, so
/// that the text alone says all of it.
bool is_one_question(const Conversation& conversation);
/// What a message says: its content, or the texts of its parts, a line each. Empty for none.
std::string said_in(const Message& message);
/// All that a conversation says, in words, for models without a chat template and for people: one
/// question is its text; a system message and tools stand before it as paragraphs; of several turns
/// each begins with its role and a colon.
std::string in_words(const Conversation& conversation);

/// Replaces what the user says last by change(it), in a written conversation. Throws InputError.
std::string asked_last(std::string_view written,
                       const std::function<std::string(std::string_view)>& change);
/// The same in the conversation itself.
void change_last(Conversation& conversation,
                 const std::function<std::string(std::string_view)>& change);

}  // namespace rollcall::text
