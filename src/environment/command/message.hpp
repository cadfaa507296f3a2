// The messages between Rollcall and an environment's command: JSON, one object per line.
#pragma once

#include "environment/environment.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::environment {

inline constexpr std::size_t kLongestAnswer = std::size_t{1} << 20U;  ///< bytes of a line
inline constexpr std::size_t kLongestText = std::size_t{1} << 18U;    ///< bytes of a text or state

/// {"op":"reset","id","seed","prompt","reference","info"} with its newline, and "state" if the talk
/// begins in one. Bytes that are not UTF-8 become U+FFFD.
std::string reset_line(const Talk& talk);
/// {"op":"step","id","seed","turn","state","action"} for the action of turn `turn`. `state`: the
/// state before the action; null if the environment gave none.
std::string step_line(const Talk& talk, std::uint32_t turn);
std::string close_line(const std::string& id);  ///< {"op":"close","id"}

struct Parsed {
  std::string id{};
  std::optional<std::uint64_t> turn{};  ///< that of the step which it says it answers
  Answer answer{};
  std::string fault{};  ///< the fault of the line; empty: it is usable
};
/// Reads a line of the command. Any bytes are safe; never throws. {"id","error"} gives Loss::told.
/// `traits`: which components and kinds it may name. A number that is not finite, a component, kind
/// or flag with another name, a value of another type and an unknown key are faults.
Parsed parse_answer(std::string_view line, const Traits& traits);

}  // namespace rollcall::environment
