// The table of scheduling policies: one row names a sampler and an allocator.
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "scheduling/allocator/equal.hpp"
#include "scheduling/allocator/square_root.hpp"
#include "scheduling/policy.hpp"
#include "scheduling/sampler/uniform.hpp"
#include "scheduling/single_round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rollcall::scheduling {
namespace {

struct Row {
  const char* name;
  std::unique_ptr<Sampler> (*sampler)(const PromptTable& prompts, std::uint64_t seed);
  std::unique_ptr<Allocator> (*allocator)();
};

std::unique_ptr<Sampler> uniform(const PromptTable& prompts, std::uint64_t seed) { return std::make_unique<UniformSampler>(prompts.level.size(), seed); }
template <class A>
std::unique_ptr<Allocator> make() {
  return std::make_unique<A>();
}

constexpr Row kPolicies[] = {
    // name          sampler  allocator
    {"uniform", uniform, make<EqualAllocator>},            // every method with a fixed group size (GRPO, RLOO, ...)
    {"uniform_sqrt", uniform, make<SquareRootAllocator>},  // arXiv:2601.19280, square-root law of the variance proxy
};

/// Knobs know their own names only; a message gives the run file's.
void set_knob(ConfigSchema& schema, const std::string& key, const std::string& value) {
  const std::string assignment = key + "=" + value, origin = "--set " + assignment + ": ";
  try {
    schema.set(assignment);
  } catch (const ConfigError& e) {
    const std::string text = e.what();
    throw ConfigError("scheduler.knobs." + (text.starts_with(origin) ? text.substr(origin.size()) : text));
  }
}

}  // namespace

std::unique_ptr<Policy> make_policy(const std::string& row, const Knobs& knobs, const PromptTable& prompts, std::uint64_t seed) {
  const auto* found = std::find_if(std::begin(kPolicies), std::end(kPolicies), [&](const Row& r) { return r.name == row; });
  require<ConfigError>(found != std::end(kPolicies), fmt::format("scheduler.policy {} is not in the table", row),
                       "it decides which prompts get how many rollouts", suggest_name(row, policy_names()));
  require<ConfigError>(!prompts.level.empty(), "there are no training prompts", "the scheduler has nothing to choose from", "check the task section");
  auto sampler = found->sampler(prompts, seed);
  auto allocator = found->allocator();
  ConfigSchema schema;
  sampler->bind(schema);
  allocator->bind(schema);
  for (const auto& [key, value] : knobs) {
    require<ConfigError>(!schema.keys().empty(), fmt::format("scheduler.knobs.{} is set, but the policy {} has no knobs", key, row), "it would change nothing",
                         "remove it or choose another scheduler.policy");
    set_knob(schema, key, value);
  }
  return std::make_unique<SingleRoundPolicy>(row, prompts, std::move(sampler), std::move(allocator));
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Row& r : kPolicies) names.emplace_back(r.name);
  return names;
}

}  // namespace rollcall::scheduling
