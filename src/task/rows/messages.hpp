// Messages and tools as rows of files have them, for examples and for prompts.
#pragma once

#include "base/text/json.hpp"
#include "task/json_lines.hpp"
#include "text/chat/conversation.hpp"

#include <vector>

namespace rollcall::task {

/// A list of messages. Content that is an object or has parts without a type is given the form that
/// chat templates take. Throws InputError naming the line.
std::vector<text::Message> messages_of(const nlohmann::ordered_json& list, const Line& line);
/// The tools: a list, or the JSON text of one, as files with one type a column store them. Throws
/// InputError naming the line.
nlohmann::ordered_json tools_of(const nlohmann::ordered_json& given, const Line& line);

}  // namespace rollcall::task
