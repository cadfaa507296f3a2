// A secret number and guesses that are answered with more or less, and the policy's view of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

struct NumberRiddle {
  std::int64_t low = 0, high = 0;  ///< the number is one of these or between them
  std::int64_t guesses = 0;        ///< guesses in total
  std::int64_t secret = 0;         ///< the number; the reference has none
  std::vector<std::int64_t> guessed{};
  bool operator==(const NumberRiddle&) const = default;
};

/// JSON: the state with all members, the reference with `low`, `high` and `guesses`.
std::string text_of(const NumberRiddle& riddle);
std::string reference_of(const NumberRiddle& riddle);
/// Nothing if the text is not a state in which a guess may be made.
std::optional<NumberRiddle> read_number_riddle(std::string_view state);
/// `secret` is `low`.
std::optional<NumberRiddle> read_number_riddle_reference(std::string_view reference);
/// The policy's view: the bounds, the guesses with + if the number is larger and - if it is
/// smaller, and the number of guesses left, "12-18: 15+ 2>".
std::string view_of(const NumberRiddle& riddle);

}  // namespace rollcall::task
