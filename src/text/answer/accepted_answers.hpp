// References that accept several answers, and how one text tells them from a reference that is one
// answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// The reference of a row whose answer is this list. Two or more are JSON, as in builds before
/// U+001E: {"4", "four"} -> ["4","four"]. A list of one has U+001E before it.
std::string accepting(const std::vector<std::string>& answers);
/// The reference of a row whose answer is this text: the text, with U+001E twice before one that
/// would be read as a list.
std::string accepting(const std::string& answer);

/// The answers of a reference that is a list; empty where it is one answer.
std::vector<std::string> accepted_answers(std::string_view reference);
/// The text of a reference that is one answer.
std::string_view only_answer(std::string_view reference);
/// The first of several answers, or the one.
std::string first_accepted(const std::string& reference);
/// As people and models read it: an answer as it is, a list as JSON.
std::string shown_reference(std::string_view reference);

}  // namespace rollcall::text
