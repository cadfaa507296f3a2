// The part of a response that is not thought. A closed thought is <think>...</think>.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::text {

/// The text with a line break in place of each closed thought. A closing tag without an opening
/// one, which the prompt may have given, closes all text before it. If the text consists only of
/// thoughts, the words of the thoughts are kept. A thought that is not closed is ordinary text. The
/// result points into `text`, or into `storage` if it differs from it.
std::string_view spoken(std::string_view text, std::string& storage);

/// Like spoken(), but empty if the text consists only of thoughts.
std::string_view without_thoughts(std::string_view text, std::string& storage);

/// Whether the text opens a thought and never closes it.
bool ends_in_thought(std::string_view text);

}  // namespace rollcall::text
