// Chooses places, and begins the rollouts that branch off there.
#include "run/generation/branches.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "run/messages/purposes.hpp"

#include <utility>

namespace rollcall::run {
namespace {

/// The places of the turn [turn, end of `so_far`) at which rollouts branch off from `from`.
std::vector<std::size_t> places_in(const OpenRollouts& rollouts, const OpenGroup& group,
                                   const OpenRollout& from, const model::DecodedSequence& so_far,
                                   std::size_t turn) {
  const std::size_t sampled = so_far.tokens.size();
  if (group.exits) {
    std::vector<std::size_t> ways;
    for (std::size_t j = 1; j <= from.leaves; ++j)
      ways.push_back(j * sampled / group.rollouts.size());
    return ways;
  }
  const DriverParts& parts = rollouts.parts();
  const RandomStream stream(std::uint64_t(parts.context->config.run.seed), RandomPurpose::forks,
                            rollouts.plan().step, group.address, from.sample);
  const auto places = parts.forks->places(so_far, turn, sampled, from.leaves, stream.bits(turn));
  expect(places.size() <= from.leaves, "a rollout has as many forks as it may have");
  std::size_t last = turn;
  for (const std::size_t place : places) {
    expect(place >= last && place < sampled, "forks begin in the turn that has ended, and ascend");
    last = place;
  }
  return places;
}

/// An exit adds its words before it continues. If the rollout is too short, or leaves no room after
/// the words, the new rollout is sampled from its beginning.
void leave(std::span<const std::int32_t> words, OpenRollout& leaf, model::Branch& branch) {
  const std::int64_t room = leaf.most - std::int64_t(branch.sampled + words.size());
  if (branch.sampled == 0 || room < 1) {
    branch.sampled = 0, branch.most = leaf.most;
    return;
  }
  branch.said.assign(words.begin(), words.end());
  branch.most = room;
  PlayedTurn& shared = leaf.turns.emplace_back();
  shared.end = branch.sampled, shared.said = branch.said;
}

/// A fork of a conversation continues with the turn in which it branches off, or after the earlier
/// turns.
void talk_on(const OpenRollouts& rollouts, const OpenGroup& group, const OpenRollout& from,
             OpenRollout& leaf, model::Branch& branch) {
  const StepPlan& plan = rollouts.plan();
  leaf.talk.emplace(from.talk->forked(branch.sampled,
                                      sample_id(plan.purpose, group.plan->id, leaf.sample),
                                      seeds_of(rollouts.parts(), plan.split, group, leaf.sample)));
  branch.most = leaf.talk->room();
  const auto& turns = leaf.talk->turns();
  if (!turns.empty() && turns.back().end == branch.sampled) branch.said = turns.back().said;
}

}  // namespace

std::vector<model::Branch> branches_of(OpenRollouts& rollouts, const model::SequencePlace& place,
                                       const model::DecodedSequence& so_far, std::size_t turn) {
  const auto [g, index] = rollouts.in_shard(place);
  OpenGroup& group = rollouts.groups()[g];
  OpenRollout& from = group.rollouts.at(index);
  std::vector<model::Branch> all;
  if (from.leaves == 0) return all;
  // Places of decode() count the group's rollouts from the request's first one.
  const auto before = std::uint32_t(index) - place.sample;
  for (const std::size_t at : places_in(rollouts, group, from, so_far, turn)) {
    if (from.talk && !from.talk->may_fork(at)) {
      ++from.unmade;
      continue;
    }
    OpenRollout& leaf = group.rollouts.at(from.leaf);
    leaf.opening = from.opening, leaf.question = from.question, leaf.most = from.most;
    model::Branch branch{.sample = from.leaf - before, .sampled = at};
    ++from.leaf, --from.leaves;
    if (group.exits) leave(rollouts.parts().exit, leaf, branch);
    else if (from.talk) talk_on(rollouts, group, from, leaf, branch);
    else branch.most = from.most - std::int64_t(at);
    if (branch.sampled > 0) {
      leaf.parent = from.sample;
      leaf.fork_token = std::int64_t(from.opening.learnt + branch.sampled);
    }
    all.push_back(std::move(branch));
  }
  return all;
}

}  // namespace rollcall::run
