// Answers in words at the end of a sentence: "The slope of a vertical line is undefined."
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace rollcall::text {

/// Finds the sentence that ends by saying that its subject is `words`, and returns its number,
/// counted backwards from the last sentence, which is 0. Remarks may follow the words (", because
/// ..."). Nothing if no sentence says so, or if it denies or hedges it ("is not an ellipse", "a
/// circle or an ellipse", "may be odd"). Closing remarks such as "I hope this helps." do not count
/// as sentences. Only the last few sentences are looked at.
std::optional<std::size_t> closing_sentence(std::string_view said, std::string_view words);

}  // namespace rollcall::text
