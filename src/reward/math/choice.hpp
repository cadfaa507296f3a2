// Answers that name a choice and give its content: "(C) 5", "E. the last of them".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

struct Choice {
  char letter = 0;     ///< A to J
  std::string said{};  ///< text after the label; may be empty
};

/// The choice at the beginning of the text: "C. 5", "(C) 5", "\textbf{(C)}\ 5", "C:", "(C)".
/// Nothing if there is no label, or if the text names several choices.
std::optional<Choice> choice_of(std::string_view text);

}  // namespace rollcall::reward::math
