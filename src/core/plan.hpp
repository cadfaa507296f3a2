// What the scheduler asks for and what it hears back: numbers only.
#pragma once

#include "base/id.hpp"
#include "core/rollout.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rollcall {

/// How tokens are drawn, and the softmax whose log-prob is stored: over the whole vocabulary,
/// whatever top_k and top_p leave, or over what they leave.
struct SamplingParams {
  double temperature = 1.0;  ///< 0 means greedy; the stored log-prob is then at temperature 1
  std::int64_t top_k = 0;    ///< 0: off
  double top_p = 1.0;        ///< 1: off
  std::int64_t max_new_tokens = 64;
  std::vector<std::string> stop;  ///< text that ends a rollout, in addition to end-of-sequence
  std::int64_t vocab_size = 0;  ///< of the tokenizer: only ids below it are drawn, since those that
                                ///< pad the model's have no text; 0: all
  std::string logprob = "full";  ///< full | kept
};

/// Whether some tokens are left out of the draw.
inline bool truncates(const SamplingParams& sampling) {
  return sampling.temperature > 0.0 && (sampling.top_k > 0 || sampling.top_p < 1.0);
}
/// Whether log-probs are of the softmax over the others, so that each token comes with their list.
inline bool renormalises(const SamplingParams& sampling) {
  return truncates(sampling) && sampling.logprob == "kept";
}

/// How many rollouts of which prompt: one group, or a numbered fragment of one when a step has
/// several rounds.
struct GroupPlan {
  GroupId id;
  std::int32_t level = 0;
  std::uint32_t first_sample = 0;  ///< samples [first_sample, first_sample + count)
  std::uint32_t count = 1;
  std::int32_t bin = -1;  ///< difficulty bin of the prompt when it was chosen; -1: the policy has
                          ///< none
};

/// One round of a step, from the coordinator to one generation rank.
struct StepPlan {
  Purpose purpose = Purpose::train;
  Split split = Split::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  PolicyVersion policy;
  SamplingParams sampling;
  std::vector<GroupPlan> groups;
  std::vector<Prompt> judge_tasks{};  ///< prompts of those of the groups that are none of the
                                      ///< task's (core/judge_task.hpp)
  std::int32_t aggregator = -1;       ///< world rank that stores what comes of it
  std::uint32_t aggregated = 1;  ///< plans whose shards are stored together, there; 1: it is stored
                                 ///< alone, by who scores it
};

/// What scoring tells the scheduler of one group (or fragment).
struct GroupReport {
  GroupId id;
  std::int32_t level = 0;
  std::vector<double> rewards{};        ///< [n]
  std::vector<std::uint8_t> correct{};  ///< [n]
  std::vector<std::int32_t> lengths{};  ///< [n] policy tokens
  std::vector<std::string> answers{};   ///< [n] extracted answers; filled for eval and validation
                                        ///< only (majority votes)
  std::uint32_t dropped = 0;  ///< further rollouts that were drawn and came to no verdict: nothing
                              ///< is known of them
  /// [n] chance of success that a quality head gave the partial rollout. No stage fills it, and a
  /// policy that cannot do without is refused (scheduling/scheduler.hpp).
  std::vector<double> predicted{};
  /// how much its rollouts differ as texts, 0 (all the same) to 1; NaN: not measured
  double diversity = std::numeric_limits<double>::quiet_NaN();
  // After the update; NaN where nobody has told.
  /// mean |log-prob now - when sampled| over the prompt's previous rollout
  double drift = std::numeric_limits<double>::quiet_NaN();
  /// mean surrogate loss of its rollouts
  double loss = std::numeric_limits<double>::quiet_NaN();
  double mean_abs_advantage = std::numeric_limits<double>::quiet_NaN();  ///< over its rollouts
};

/// Rollouts of the group, those without a verdict included: the next sample's number, and what a
/// budget counts.
inline std::int64_t drawn(const GroupReport& report) {
  return std::int64_t(report.rewards.size()) + std::int64_t(report.dropped);
}

/// From a scoring rank to the coordinator, one per scored file.
struct StepReport {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  std::uint32_t producer = 0;  ///< of the shard, the first where several are stored together
  std::vector<GroupReport> groups;
};

}  // namespace rollcall
