// What the boxes of a response's last sentence with boxes hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text {

/// The content of the last \boxed{...} or \fbox{...}, braces counted (Hendrycks et al. 2021, MATH:
/// last_boxed_only_string). Boxes before it that are pieces of the same answer ("\boxed{3} and
/// \boxed{5}", "\boxed{41}, or maybe \boxed{42}") come along, joined by ", ", " or " or " and "; a
/// box that is only a step to the last one does not. An empty box that is only named ("in
/// \boxed{}")
/// is passed over; any other empty one empties the answer. None where the last box never closes.
std::optional<std::string> boxed_answer(std::string_view response);

}  // namespace rollcall::text
