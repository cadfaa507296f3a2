// References that are one answer or a list of accepted answers, both written as one string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// The reference for a row whose answer is this list. Two or more answers are JSON, as earlier
/// builds wrote them: {"4", "four"} -> ["4","four"]. U+001E precedes a list of one answer.
std::string accepting(const std::vector<std::string>& answers);
/// The reference for a row whose answer is this text. It is the text itself, preceded by two U+001E
/// if it would otherwise be read as a list.
std::string accepting(const std::string& answer);

/// The answers in a reference that is a list. Empty if the reference is a single answer.
std::vector<std::string> accepted_answers(std::string_view reference);
/// The text of a reference that is a single answer.
std::string_view only_answer(std::string_view reference);
/// The first answer of a list, or the only one.
std::string first_accepted(const std::string& reference);
/// The reference in a form for people and models to read: a single answer unchanged, a list as
/// JSON.
std::string shown_reference(std::string_view reference);

}  // namespace rollcall::text
