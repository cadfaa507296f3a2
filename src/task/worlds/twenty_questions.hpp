// Things of a size, a colour and a shape, one of which is meant: what a policy sees of them, and a
// way to find it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

/// The letters of a thing, one of each: "src" is a small red cube. No letter is in two of them.
inline constexpr std::string_view kSizes = "sh", kColours = "rgby", kShapes = "cotp";

struct Riddle {
  std::vector<std::string> things{};  ///< distinct, at least two
  std::int64_t questions = 0;         ///< in all, guesses among them
  std::string secret{};               ///< the thing that is meant; the reference has none
  std::vector<std::string> asked{};   ///< letters and things
  bool operator==(const Riddle&) const = default;
};

/// JSON: the state with all members, the reference with `things` and `questions`.
std::string text_of(const Riddle& riddle);
std::string reference_of(const Riddle& riddle);
/// Nothing for a text that is no state in which something may be asked.
std::optional<Riddle> read_riddle(std::string_view state);
std::optional<Riddle> read_riddle_reference(std::string_view reference);
/// Whether the text is one of the letters of things.
bool is_letter(std::string_view text);
/// Whether the answer to a letter or a thing is yes.
bool is_true_of(std::string_view thing, std::string_view asked);
/// What a policy sees: the things, what was asked with + for yes and - for no, and how many
/// questions are left, "src hgo: r+ 2>".
std::string view_of(const Riddle& riddle);

/// The letter that parts the things most evenly, the first of those that do so equally; the thing
/// itself if there is only one.
std::string best_question(const std::vector<std::string>& things);
/// The most questions, the last one being the thing itself, after which best_question() has found
/// any of the things.
std::int64_t questions_needed(const std::vector<std::string>& things);

}  // namespace rollcall::task
