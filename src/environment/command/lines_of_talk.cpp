// What does not depend on how the command runs.
#include "environment/command/lines_of_talk.hpp"

#include <fmt/format.h>

namespace rollcall::environment {

Traits traits_of(const EnvironmentSection& section) {
  Traits traits;
  traits.components = section.components, traits.kinds = section.kinds;
  if (section.role != "auto") traits.role = section.role;
  return traits;
}

std::string LinesOfTalk::wrong_turn(std::size_t index, const Parsed& parsed) const {
  if (!parsed.turn || (index > 0 && *parsed.turn == index - 1)) return {};
  return fmt::format("it answers turn {} of \"{}\", where {} waits for its answer", *parsed.turn,
                     id(), index == 0 ? "the reset" : fmt::format("turn {}", index - 1));
}

std::string LinesOfTalk::where() const {
  return talk_.actions.empty() ? "reset" : fmt::format("turn {}", talk_.actions.size() - 1);
}

}  // namespace rollcall::environment
