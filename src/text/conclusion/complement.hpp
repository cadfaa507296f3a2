// Answers in words at the end of a sentence: "The slope of a vertical line is undefined."
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace rollcall::text {

/// The sentence, counted from the last one, that ends by saying of its subject that it is `words`;
/// remarks may follow them (", because ..."). None where no sentence does, or where it denies or
/// hedges that ("is not an ellipse", "a circle or an ellipse", "may be odd"). Closing remarks such
/// as "I hope this helps." do not count as sentences. Looks at the last few sentences alone.
std::optional<std::size_t> closing_sentence(std::string_view said, std::string_view words);

}  // namespace rollcall::text
