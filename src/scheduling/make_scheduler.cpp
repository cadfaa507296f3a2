// Makes a scheduler from names: rows and pieces are looked up, and an unknown name is refused with
// the nearest known one.
#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/nearest.hpp"
#include "scheduling/composed.hpp"
#include "scheduling/schedulers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::scheduling {
namespace {

template <class Family>
void resolve_piece(std::string& name, const std::string& of_row,
                   std::span<const PieceRow<Family>> table, const char* family) {
  if (name.empty()) name = of_row;
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  require<ConfigError>(std::find(names.begin(), names.end(), name) != names.end(),
                       fmt::format("scheduler.{} {} is not in the table", family, name),
                       "it replaces a piece of the policy", suggest_name(name, names));
}

}  // namespace

SchedulerChoice resolve(const SchedulerChoice& choice) {
  const auto found = std::find_if(schedulers().begin(), schedulers().end(),
                                  [&](const SchedulerRow& r) { return r.name == choice.row; });
  require<ConfigError>(found != schedulers().end(),
                       fmt::format("scheduler.policy {} is not in the table", choice.row),
                       "it decides which prompts get how many rollouts",
                       suggest_name(choice.row, policy_names(), "rollcall schedulers"));
  SchedulerChoice named = choice;
  Faults faults;
  faults.check({"scheduler.sampler"},
               [&] { resolve_piece(named.sampler, found->pieces.sampler, samplers(), "sampler"); });
  faults.check({"scheduler.allocator"}, [&] {
    resolve_piece(named.allocator, found->pieces.allocator, allocators(), "allocator");
  });
  faults.check({"scheduler.rounds"},
               [&] { resolve_piece(named.rounds, found->pieces.rounds, rounds(), "rounds"); });
  faults.check({"scheduler.selection"}, [&] {
    resolve_piece(named.selection, found->pieces.selection, selections(), "selection");
  });
  faults.require_none();
  return named;
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerChoice& choice, const Knobs& knobs,
                                          PromptTable prompts, std::uint64_t seed) {
  return std::make_unique<ComposedPolicy>(resolve(choice), knobs, std::move(prompts), seed);
}

std::string describe_knobs(const SchedulerChoice& choice) {
  return ComposedPolicy(resolve(choice), {}, PromptTable{.level = {0}}, 0).knobs().describe();
}

std::vector<std::string> knob_names(const SchedulerChoice& choice) {
  return ComposedPolicy(resolve(choice), {}, PromptTable{.level = {0}}, 0).knobs().keys();
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const SchedulerRow& r : schedulers()) names.emplace_back(r.name);
  return names;
}

}  // namespace rollcall::scheduling
