// Messages and tools as rows of files have them, for examples and for prompts.
#pragma once

#include "base/text/json.hpp"
#include "task/json_lines.hpp"
#include "text/chat/conversation.hpp"

#include <string_view>
#include <vector>

namespace rollcall::task {

/// A list of messages. Content that is an object or has parts without a type is brought into the
/// form that chat templates expect. Throws InputError naming the line, also for a role that no
/// template knows, for parts that are not text, and for a user's message without any text.
std::vector<text::Message> messages_of(const nlohmann::ordered_json& list, const Line& line);
/// Throws InputError naming the line if the row has images, sounds or videos beside its text
/// `said`: a list or an object in a column such as "images", or any value there if the text has a
/// mark such as <image>.
void refuse_media_beside(std::string_view said, const nlohmann::json& row, const Line& line);
/// The tools: a list, or the JSON text of one, as stored in files with one type per column. Throws
/// InputError naming the line.
nlohmann::ordered_json tools_of(const nlohmann::ordered_json& given, const Line& line);

}  // namespace rollcall::task
