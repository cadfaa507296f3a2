// What a response says aloud: a closed thought, <think>...</think>, announces nothing.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::text {

/// The text without its closed thoughts, each of which leaves a line break. A closing tag without
/// an opening one, which the prompt may have given, closes what comes before it. A text that is
/// nothing but thoughts keeps what they say. A thought that nobody closes is ordinary text.
/// `storage` holds the result where it is another text.
std::string_view spoken(std::string_view text, std::string& storage);

/// The same, and nothing of a text that is nothing but thoughts.
std::string_view without_thoughts(std::string_view text, std::string& storage);

/// Whether the text opens a thought and never closes it.
bool ends_in_thought(std::string_view text);

}  // namespace rollcall::text
