// Finds the rule by which rollouts fork.
#include "run/generation/forks/forks.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

struct Row {
  const char* name;
  std::unique_ptr<const ForkRule> (*make)(const RunConfig& config);
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{};
  return all;
}

}  // namespace

std::vector<std::string> fork_rule_names() {
  std::vector<std::string> names;
  for (const Row& row : rows()) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<const ForkRule> make_fork_rule(const RunConfig& config) {
  const std::string& name = config.environment.forks;
  if (name.empty()) return nullptr;
  const auto row =
      std::find_if(rows().begin(), rows().end(), [&](const Row& one) { return one.name == name; });
  if (row == rows().end())
    throw ConfigError(error_message(fmt::format("environment.forks \"{}\" is unknown", name),
                                    "it says where rollouts of a group begin as others did",
                                    suggest_name(name, fork_rule_names())));
  return row->make(config);
}

}  // namespace rollcall::run
