// The table of built-in environments.
#include "environment/environments.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "environment/chosen.hpp"
#include "environment/worlds/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::environment {
namespace {

constexpr std::array kEnvironments = {
    EnvironmentRow{"retry", "a wrong answer may be given again", nullptr, false, make_retry},
    EnvironmentRow{"key_door", "fetch a key, pass a door and reach a goal", "key_door", false,
                   make_key_door},
    EnvironmentRow{"rooms", "fetch the keys to a row of rooms and reach a goal", "rooms", false,
                   make_rooms},
    EnvironmentRow{"frozen_lake", "cross a lake with holes, which may be slippery", "frozen_lake",
                   false, make_frozen_lake},
    EnvironmentRow{"bandit", "find the machine that pays most often", "bandit", false, make_bandit},
    EnvironmentRow{"twenty_questions", "find out which thing is meant", "twenty_questions", false,
                   make_twenty_questions},
    EnvironmentRow{"number_dialogue", "find out which number is meant", "number_dialogue", false,
                   make_number_dialogue},
    EnvironmentRow{"shop", "buy what is wished for", "shop", false, make_shop},
    EnvironmentRow{"forms", "fill in a form and send it", "forms", false, make_forms},
};

}  // namespace

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (const EnvironmentRow& row : kEnvironments) names.emplace_back(row.name);
  return names;
}

const EnvironmentRow& find_environment(const std::string& name) {
  const auto row = std::find_if(kEnvironments.begin(), kEnvironments.end(),
                                [&](const EnvironmentRow& r) { return r.name == name; });
  if (row == kEnvironments.end()) {
    auto names = environment_names();
    names.emplace_back(kToolsName);
    throw ConfigError(error_message(fmt::format("environment.name \"{}\" is unknown", name),
                                    "the policy would have nobody to talk with",
                                    suggest_name(name, names)));
  }
  return *row;
}

}  // namespace rollcall::environment
