// What the scheduler asks for and what is reported back to it: numbers only.
#pragma once

#include "base/numbers/id.hpp"
#include "core/derived_prompt.hpp"
#include "core/rollout.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rollcall {

/// How tokens are drawn, and which softmax gives the stored log-prob: the one over the whole
/// vocabulary, or the one over the tokens that top_k and top_p keep.
struct SamplingParams {
  double temperature = 1.0;  ///< 0 is greedy; the stored log-prob is then that at temperature 1
  std::int64_t top_k = 0;    ///< 0 turns top-k off
  double top_p = 1.0;        ///< 1 turns top-p off
  std::int64_t max_new_tokens = 64;
  std::vector<std::string> stop;  ///< strings that end a rollout, in addition to end-of-sequence
  std::int64_t vocab_size = 0;    ///< size of the tokenizer's vocabulary; only ids below it are
                                  ///< drawn, because the padding of the model's vocabulary has no
                                  ///< text; 0 allows all ids
  std::string logprob = "full";   ///< full (whole vocabulary) | kept (tokens that top_k and top_p
                                  ///< keep)
  std::int64_t turn_tokens = 0;   ///< most tokens of one turn; 0: max_new_tokens alone limits it
  bool two_likeliest = false;     ///< decoding also reports how probable the two likeliest tokens
                                  ///< are at each position; not on CUDA devices
};

/// Whether top_k or top_p leave tokens out of the draw.
inline bool truncates(const SamplingParams& sampling) {
  return sampling.temperature > 0.0 && (sampling.top_k > 0 || sampling.top_p < 1.0);
}
/// Whether log-probs come from the softmax over the kept tokens. Each token is then stored with the
/// list of the tokens that were kept at its position.
inline bool renormalises(const SamplingParams& sampling) {
  return truncates(sampling) && sampling.logprob == "kept";
}

/// How many rollouts of a prompt are wanted: a whole group or, in a step of several rounds, one
/// round's part of it.
struct GroupPlan {
  GroupId id;
  std::int32_t level = 0;
  std::uint32_t first_sample = 0;  ///< the samples are [first_sample, first_sample + count)
  std::uint32_t count = 1;
  std::int32_t bin = -1;  ///< difficulty bin of the prompt when it was chosen; -1 if the scheduler
                          ///< has no bins
  Derivation from{};      ///< why the group is asked; plain for a group of the task
  /// Ascending sample numbers, used instead of first_sample; `count` is then how many there are.
  /// Empty: consecutive samples.
  std::vector<std::uint32_t> samples{};
  /// The draw in the address of its random streams, if it repeats those of another group; -1: its
  /// own.
  std::int64_t stream_draw = -1;
  std::string start{};         ///< as in Group
  std::uint32_t unforked = 0;  ///< how many of the rollouts are sampled from their beginning, while
                               ///< the others are forked from those; 0: all of them
};

/// What the coordinator asks of one generation rank for one round of a step.
struct StepPlan {
  Purpose purpose = Purpose::train;
  Split split = Split::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  PolicyVersion policy;
  SamplingParams sampling;
  std::vector<GroupPlan> groups;
  std::vector<DerivedPrompt> derived{};  ///< prompts of those groups that have their own text,
                                         ///< ascending by number
  std::int32_t aggregator = -1;          ///< world rank that stores the shard
  std::uint32_t aggregated = 1;  ///< number of plans whose shards that rank stores together; 1 if
                                 ///< the scoring rank stores this shard alone
};

/// What scoring reports to the scheduler about one group, or one round's part of it.
struct GroupReport {
  GroupId id;
  std::int32_t level = 0;
  std::vector<double> rewards{};        ///< [n] rewards of the rollouts that have a verdict
  std::vector<std::uint8_t> correct{};  ///< [n] 1 if the verifier found the rollout correct
  std::vector<std::int32_t> lengths{};  ///< [n] numbers of policy tokens
  std::vector<std::string> answers{};   ///< [n] extracted answers for majority votes; only filled
                                        ///< for eval and validation
  std::uint32_t dropped = 0;            ///< further rollouts that were drawn but have no verdict
  /// [n] chance of success that a quality head gave the partial rollout. No stage fills it, and a
  /// scheduler that needs it is refused (scheduling/scheduler.hpp).
  std::vector<double> predicted{};
  /// How different the texts of the group's rollouts are, from 0 (all are equal) to 1; NaN if not
  /// measured.
  double diversity = std::numeric_limits<double>::quiet_NaN();
  // The following are known after the update, and NaN if not measured.
  /// mean |log-prob now - log-prob when sampled| over the tokens of the prompt's previous rollout
  double drift = std::numeric_limits<double>::quiet_NaN();
  /// mean surrogate loss of the group's rollouts
  double loss = std::numeric_limits<double>::quiet_NaN();
  /// mean |advantage| of the group's rollouts
  double mean_abs_advantage = std::numeric_limits<double>::quiet_NaN();
  Derivation from{};  ///< as in Group. Pieces learn nothing about a prompt from groups that had
                      ///< help
};

/// Rollouts of the group, including those without a verdict. This is the number of the next sample,
/// and what counts against a budget.
inline std::int64_t drawn(const GroupReport& report) {
  return std::int64_t(report.rewards.size()) + std::int64_t(report.dropped);
}

/// What a scoring rank reports to the coordinator about one scored file.
struct StepReport {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  std::uint32_t producer = 0;  ///< world rank that sampled the shard; the first such rank if the
                               ///< shards of several ranks are stored together
  std::vector<GroupReport> groups;
};

}  // namespace rollcall
