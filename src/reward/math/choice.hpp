// Answers that name a choice and say it: "(C) 5", "E. the last of them".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

struct Choice {
  char letter = 0;     ///< A to J
  std::string said{};  ///< what follows the label; may be empty
};

/// The choice that a text begins with: "C. 5", "(C) 5", "\textbf{(C)}\ 5", "C:", "(C)". None
/// without a label, and where the text names several choices.
std::optional<Choice> choice_of(std::string_view text);

}  // namespace rollcall::reward::math
