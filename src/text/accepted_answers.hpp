// References that accept several answers: a JSON list of texts in the place of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// The reference that accepts each of these: {"4", "four"} -> ["4","four"]; a single one as it is.
std::string accepting(const std::vector<std::string>& answers);

/// The answers that a reference accepts where they are several; empty where it is one answer. No
/// verifier has references of its own that are lists of texts.
std::vector<std::string> accepted_answers(std::string_view reference);
/// The first of them, or the one answer.
std::string first_accepted(const std::string& reference);

}  // namespace rollcall::text
