// A number that is meant, and guesses that are answered with more or less: what a policy sees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

struct NumberRiddle {
  std::int64_t low = 0, high = 0;  ///< the number is one of these or between them
  std::int64_t guesses = 0;        ///< in all
  std::int64_t secret = 0;         ///< the number; the reference has none
  std::vector<std::int64_t> guessed{};
  bool operator==(const NumberRiddle&) const = default;
};

/// JSON: the state with all members, the reference with `low`, `high` and `guesses`.
std::string text_of(const NumberRiddle& riddle);
std::string reference_of(const NumberRiddle& riddle);
/// Nothing for a text that is no state in which something may be guessed.
std::optional<NumberRiddle> read_number_riddle(std::string_view state);
/// `secret` is `low`.
std::optional<NumberRiddle> read_number_riddle_reference(std::string_view reference);
/// What a policy sees: the bounds, the guesses with + where the number is more and - where it is
/// less, and how many guesses are left, "12-18: 15+ 2>".
std::string view_of(const NumberRiddle& riddle);

}  // namespace rollcall::task
