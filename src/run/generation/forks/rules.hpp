// The rules by which rollouts fork, with the numbers that their papers state. Each sees one turn of
// one rollout at a time, so that nothing depends on what else is sampled.
#pragma once

#include "run/generation/forks/fork_rule.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rollcall::run {

/// One further rollout begins where the policy answers a reply, if it has become less sure there
/// than it was at its beginning: u - weight (H - H_0) / log(vocabulary), held within [0, 1], is at
/// most `share`, where u is uniform and H is the mean entropy of the first `tokens` tokens of the
/// turn, H_0 that of the first ones of the rollout. Source: ARPO, arXiv:2507.19849, by the
/// catalogue's reading of its released code; full entropies stand in for those of ten tokens.
struct AfterReply {
  std::size_t tokens = 20;
  double weight = 0.2, share = 0.5;
  std::int64_t vocabulary = 0;  ///< size of the tokenizer's vocabulary; 0: entropies stay in nats
};
std::unique_ptr<const ForkRule> make_after_reply(const AfterReply& settings);

/// `continuations` further rollouts begin at each of the tokens with the highest entropies, as many
/// as there are rollouts left. Of equal ones the earlier comes first. Source: ETTRL,
/// arXiv:2508.11356.
struct TopEntropy {
  std::uint32_t continuations = 2;
};
std::unique_ptr<const ForkRule> make_top_entropy(const TopEntropy& settings);

/// A further rollout begins at each token at which two were nearly as probable, within the first
/// `tokens` of the rollout: p_2 > least and p_1 - p_2 < gap. It reads DecodedSequence::runner_up.
/// Source: LATR, arXiv:2510.24302; the further rollout samples its token instead of being given the
/// second one, and none is cut for being like another.
struct RunnerUp {
  double least = 0.25, gap = 0.15;
  std::size_t tokens = 512;
};
std::unique_ptr<const ForkRule> make_runner_up(const RunnerUp& settings);

/// A further rollout begins with each turn after the first, so that every state is answered twice.
std::unique_ptr<const ForkRule> make_every_turn();

}  // namespace rollcall::run
