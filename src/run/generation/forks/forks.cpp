// The rows of the table, and the requirements of each for a run.
#include "run/generation/forks/forks.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "run/generation/forks/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::run {
namespace {

constexpr std::array kForks = {
    ForkRow{"after_reply", "where the policy answers a reply and has become less sure",
            /*hears_replies=*/true, /*reads_likeliest=*/false,
            [](const RunConfig& c) {
              expect(c.sampling.vocab_size > 1, "the tokenizer is read before a rule is made");
              return make_after_reply({.vocabulary = c.sampling.vocab_size});
            }},
    ForkRow{"top_entropy", "at the tokens of which the policy was least sure", false, false,
            [](const RunConfig&) { return make_top_entropy({}); }},
    ForkRow{"runner_up", "at tokens in whose place another one was nearly as probable", false, true,
            [](const RunConfig&) { return make_runner_up({}); }},
    ForkRow{"every_turn", "with each turn after the first", true, false,
            [](const RunConfig&) { return make_every_turn(); }},
};

}  // namespace

const ForkRow& find_fork_rule(const std::string& name) {
  const auto row =
      std::find_if(kForks.begin(), kForks.end(), [&](const ForkRow& r) { return r.name == name; });
  if (row == kForks.end())
    throw ConfigError(error_message(fmt::format("environment.forks \"{}\" is unknown", name),
                                    "it says where rollouts of a group begin as others did",
                                    suggest_name(name, fork_rule_names())));
  return *row;
}

std::vector<std::string> fork_rule_names() {
  std::vector<std::string> names;
  for (const ForkRow& row : kForks) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<const ForkRule> make_fork_rule(const RunConfig& config) {
  const std::string& name = config.environment.forks;
  return name.empty() ? nullptr : find_fork_rule(name).make(config);
}

std::uint32_t unforked_of(const RunConfig& config, const GroupPlan& group) {
  if (config.environment.forks.empty() || !group.samples.empty() || !is_drawn(group.from.kind))
    return 0;
  const auto stated = std::uint32_t(config.environment.unforked);
  const std::uint32_t unforked = stated > 0 ? stated : (group.count + 1) / 2;
  return unforked < group.count ? unforked : 0;
}

}  // namespace rollcall::run
