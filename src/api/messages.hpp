// Messages of a chat in one form, in whatever form clients send them.
#pragma once

#include "text/chat/conversation.hpp"

#include <string>

namespace rollcall::api {

/// The message as templates and comparisons see it. Clients give an answer back with its keys in
/// another order, with nulls, and with keys that nobody reads: null keys, refusal, annotations,
/// audio, function_call and index are left out, and role, content, name, tool_calls and
/// tool_call_id come first, in this order. A list of text parts becomes one text. A call of a tool
/// keeps id, type, and the name and arguments of its function; arguments stay the text that they
/// are. The role developer becomes system. A message in this form is returned as it is.
text::Message normal_message(const text::Message& message);

/// What is wrong with the list `messages` of a chat; empty if nothing is.
std::string fault_of_messages(const text::Message& messages);

}  // namespace rollcall::api
