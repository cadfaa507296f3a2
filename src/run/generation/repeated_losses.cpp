// A conversation is known by its id and by the hashes of its actions, which its facts hold.
#include "run/generation/repeated_losses.hpp"

#include "base/errors/log.hpp"
#include "base/numbers/hash.hpp"
#include "io/stored_verdicts.hpp"
#include "run/generation/conversation.hpp"
#include "run/messages/purposes.hpp"

#include <span>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

std::uint64_t hash_of(const std::vector<std::uint64_t>& actions) {
  return checksum64(std::as_bytes(std::span(actions)));
}

environment::Loss loss_of(std::int64_t flags) {
  if ((flags & turn_flag::ended) == 0) return environment::Loss::told;
  return (flags & turn_flag::by_clock) != 0 ? environment::Loss::clock : environment::Loss::died;
}

/// The facts of the turn that lost the conversation. Null if it was not lost, or if this machine
/// failed: such a failure is not part of the run, and the environment is asked again.
const TurnFacts* losing(const io::StoredVerdict& verdict) {
  if (verdict.finish != FinishReason::lost) return nullptr;
  for (std::size_t t = verdict.facts.size(); t-- > 0;)
    if ((verdict.facts[t].flags & (turn_flag::ended | turn_flag::error)) != 0)
      return &verdict.facts[t];
  return nullptr;
}

}  // namespace

RepeatedLosses::RepeatedLosses(const RunContext& context) {
  const EnvironmentSection& environment = context.config.environment;
  if (environment.command.empty() && environment.tools.empty()) return;
  std::vector<std::string> unreadable;
  for (const auto& verdict : io::verdicts_to_repeat(context.run_dir, unreadable)) {
    const TurnFacts* why = losing(verdict);
    if (why == nullptr) continue;
    std::vector<std::uint64_t> actions;
    for (const TurnFacts& facts : verdict.facts)
      if (facts.action != 0) actions.push_back(facts.action);
    stored_.try_emplace(
        sample_id(verdict.purpose, verdict.group, verdict.sample),
        Lost{hash_of(actions), {.reason = why->reason, .loss = loss_of(why->flags)}});
  }
  for (const auto& fault : unreadable)
    log_warning("lost conversations that a file set aside may hold are not known: {}", fault);
}

std::optional<environment::Answer> RepeatedLosses::find(const environment::Talk& talk) const {
  if (stored_.empty()) return std::nullopt;
  const auto stored = stored_.find(talk.id);
  if (stored == stored_.end()) return std::nullopt;
  std::vector<std::uint64_t> actions;
  for (const std::string& action : talk.actions) actions.push_back(fact_hash(action));
  if (stored->second.actions != hash_of(actions)) return std::nullopt;
  return stored->second.answer;
}

}  // namespace rollcall::run
