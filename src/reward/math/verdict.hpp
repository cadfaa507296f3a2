// The result of a comparison, and the closed list of reasons why it may be left open.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

enum class Answer { equal, different, undecided };

/// The reason why a verdict is undecided. Each reason concerns the reference, so that no answer can
/// choose to be undecided: if only the answer leaves something open, it is wrong.
enum class Open {
  no,         ///< it is decided, or a running comparison has not found the reason yet
  unread,     ///< the reference cannot be read
  valueless,  ///< the reference has no value that is defined and can be computed
  costly,     ///< the reference by itself takes more than its share of the counted work or bits
  /// The reference is an unsolved equation, and the answer may give all of its solutions or only
  /// some.
  equation,
  inequality,  ///< the reference is an inequality that is not solved
  clock,       ///< the reference is a ratio or a time of day
  /// The answer equals the reference wherever that is defined, and also has values elsewhere.
  wider
};

struct OpenReason {
  Open open;
  std::string_view name, says;
};
inline constexpr std::array kOpenReasons = {
    OpenReason{Open::unread, "unread", "the reference cannot be read"},
    OpenReason{Open::valueless, "valueless", "the reference has no value that can be computed"},
    OpenReason{Open::costly, "costly",
               "the reference takes more than its share of the counted work"},
    OpenReason{Open::equation, "equation", "the reference is an equation that is not solved"},
    OpenReason{Open::inequality, "inequality", "the reference is an inequality that is not solved"},
    OpenReason{Open::clock, "clock", "the reference is a ratio or a time of day"},
    OpenReason{Open::wider, "wider", "the answer also has values where the reference has none"},
};

struct Verdict {
  Answer answer = Answer::undecided;
  std::string reason{};
  Open open = Open::no;
};

/// An undecided verdict with a reason from the list and details.
inline Verdict left_open(Open open, const std::string& detail = {}) {
  const std::string_view says = kOpenReasons[std::size_t(open) - 1].says;
  return {Answer::undecided, detail.empty() ? std::string(says) : std::string(says) + ": " + detail,
          open};
}

}  // namespace rollcall::reward::math
