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

std::string LinesOfTalk::where() const {
  return talk_.actions.empty() ? "reset" : fmt::format("turn {}", talk_.actions.size() - 1);
}

}  // namespace rollcall::environment
