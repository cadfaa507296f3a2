// What a comparison says, and the closed list of what may leave it open.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall::reward::math {

enum class Answer { equal, different, undecided };

/// Why a verdict is undecided. Each names the reference, so that no answer can choose to be
/// undecided: what an answer alone leaves open is a wrong answer.
enum class Open {
  no,         ///< it is decided; while a comparison goes on, it is not known yet whose fault it is
  unread,     ///< the reference cannot be read
  valueless,  ///< the reference has no value that is defined and can be computed
  costly,  ///< the reference alone takes more of the counted work, or of the counted bits, than its
           ///< share
  equation,    ///< the reference is an equation that is not solved, and what the answer says may be
               ///< all of its solutions or some
  inequality,  ///< the reference is an inequality that is not solved
  clock,       ///< the reference is a ratio or a time of day
  wider  ///< the answer equals the reference wherever that is defined, and has values elsewhere too
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

/// Undecided for a reason of the list, with what more there is to say.
inline Verdict left_open(Open open, const std::string& detail = {}) {
  const std::string_view says = kOpenReasons[std::size_t(open) - 1].says;
  return {Answer::undecided, detail.empty() ? std::string(says) : std::string(says) + ": " + detail,
          open};
}

}  // namespace rollcall::reward::math
