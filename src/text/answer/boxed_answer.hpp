// Reads the answer from the boxes in the last sentence of a response that has boxes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text {

/// The content of the last \boxed{...} or \fbox{...}. Its end is found by counting braces
/// (Hendrycks et al. 2021, MATH: last_boxed_only_string). Earlier boxes that are pieces of the same
/// answer ("\boxed{3} and \boxed{5}", "\boxed{41}, or maybe \boxed{42}") are joined to it by ", ",
/// " or " or " and ". A box that is only a step towards the last one is not. An empty box that is
/// only mentioned ("in \boxed{}") is passed over, and any other empty box makes the answer empty.
/// Nothing if the last box is not closed.
std::optional<std::string> boxed_answer(std::string_view response);

}  // namespace rollcall::text
