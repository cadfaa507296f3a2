// Things with a size, a colour and a shape, one of which is the secret, the policy's view of them,
// and a way to find the secret.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

/// The letters of a thing, one from each string: "src" is a small red cube. No letter is in two of
/// the strings.
inline constexpr std::string_view kSizes = "sh", kColours = "rgby", kShapes = "cotp";

struct Riddle {
  std::vector<std::string> things{};  ///< distinct, at least two
  std::int64_t questions = 0;         ///< questions in total, including guesses
  std::string secret{};               ///< the secret thing; the reference has none
  std::vector<std::string> asked{};   ///< letters and things asked about
  bool operator==(const Riddle&) const = default;
};

/// JSON: the state with all members, the reference with `things` and `questions`.
std::string text_of(const Riddle& riddle);
std::string reference_of(const Riddle& riddle);
/// Nothing if the text is not a state in which a question may be asked.
std::optional<Riddle> read_riddle(std::string_view state);
std::optional<Riddle> read_riddle_reference(std::string_view reference);
/// Whether the text is one of the letters above.
bool is_letter(std::string_view text);
/// Whether the answer to a letter or a thing is yes.
bool is_true_of(std::string_view thing, std::string_view asked);
/// The policy's view: the things, the questions asked, with + for yes and - for no, and the number
/// of questions left, "src hgo: r+ 2>".
std::string view_of(const Riddle& riddle);

/// The letter that splits the things most evenly, or the first one if several do. If there is only
/// one thing, the thing itself.
std::string best_question(const std::vector<std::string>& things);
/// The largest number of questions that best_question() needs to find any of the things, counting
/// the last one, which names the thing.
std::int64_t questions_needed(const std::vector<std::string>& things);

}  // namespace rollcall::task
