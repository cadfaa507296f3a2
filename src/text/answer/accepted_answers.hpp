// References that are one answer or a list of accepted answers, both written as one string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// The reference for a row whose answer is this list. Two or more answers are JSON, as earlier
/// builds wrote them: {"4", "four"} -> ["4","four"]. A list of one answer has U+001E before it.
std::string accepting(const std::vector<std::string>& answers);
/// The reference for a row whose answer is this text. It is the text itself, with U+001E twice
/// before it if it would be read as a list.
std::string accepting(const std::string& answer);

/// The answers in a reference that is a list; empty if it is one answer.
std::vector<std::string> accepted_answers(std::string_view reference);
/// The text of a reference that is one answer.
std::string_view only_answer(std::string_view reference);
/// The first answer of a list, or the only one.
std::string first_accepted(const std::string& reference);
/// The reference for people and models to read: a single answer as it is, a list as JSON.
std::string shown_reference(std::string_view reference);

}  // namespace rollcall::text
