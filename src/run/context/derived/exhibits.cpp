// Copies texts out of a shard, since rank 0 has no other rollouts.
#include "run/context/derived/exhibits.hpp"

#include "core/derived_prompt.hpp"
#include "run/messages/actions.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::run {
namespace {

bool is_shown(const SecondPassSection& settings, DerivedKind kind) {
  const bool asks = settings.kind == "refinement" || settings.kind == "error";
  switch (kind) {
    case DerivedKind::none: return asks || settings.buffer > 0.0;
    case DerivedKind::error: return asks;
    case DerivedKind::continuation: return settings.buffer > 0.0;
    case DerivedKind::pool: return settings.kind == "pool";
    default: return false;
  }
}

/// Whether only wrong answers are asked about, now or in a later step.
bool shows_wrong_alone(const SecondPassSection& settings, DerivedKind kind) {
  return kind == DerivedKind::continuation ||
         (kind == DerivedKind::none && (settings.kind == "pool" || settings.of != "every"));
}

/// The tokens of last_action(), including a beginning that was given.
std::vector<std::int32_t> said(const Rollout& rollout) {
  const ActionTurns action = actions_of(rollout).back();
  std::vector<std::int32_t> ids;
  for (std::size_t t = action.first; t < std::min(action.last, rollout.turns.size()); ++t) {
    const auto& tokens = rollout.turns[t].tokens;
    ids.insert(ids.end(), tokens.begin(), tokens.end());
  }
  return ids;
}

}  // namespace

bool shows_exhibits(const RunConfig& config) {
  return !config.second_pass.kind.empty() || config.second_pass.buffer > 0.0;
}

void add_exhibits(std::vector<Specimen>& specimens, const RunConfig& config,
                  const RolloutShard& shard, const ScoredShard& scores) {
  if (!shows_exhibits(config) || shard.purpose != Purpose::train) return;
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    const Group& group = shard.groups[g];
    const DerivedKind kind = kind_of(group.id, group.from);
    if (!is_shown(config.second_pass, kind)) continue;
    Specimen own{.id = group.id, .level = group.level};
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      const Rollout& rollout = group.rollouts[i];
      const Score& score = scores.scores[g][i];
      const bool is_cut = rollout.finish != FinishReason::stop;
      if (score.undecided) continue;
      if (score.correct && shows_wrong_alone(config.second_pass, kind)) continue;
      if (is_cut && kind != DerivedKind::pool) {
        if (kind == DerivedKind::none) ++own.cut;
        continue;
      }
      Exhibit exhibit{.sample = rollout.sample, .correct = score.correct, .reward = score.reward};
      if (kind != DerivedKind::pool)
        exhibit.text = last_action(rollout), exhibit.reason = score.reason;
      if (config.second_pass.kind == "error") exhibit.tokens = said(rollout);
      own.exhibits.push_back(std::move(exhibit));
    }
    if (!own.exhibits.empty() || own.cut > 0) specimens.push_back(std::move(own));
  }
}

}  // namespace rollcall::run
