// The vocabulary of a run: prompts, turns, rollouts, groups, shards. Plain values, no behaviour.
#pragma once

#include "base/id.hpp"
#include "core/kept_tokens.hpp"
#include "core/missed_tokens.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rollcall {

/// What a rollout is drawn for. Only `train` rollouts are trained on; of `greedy` ones, one a
/// prompt, the objective may see the reward as a baseline.
enum class Purpose : std::int32_t { train = 0, validation = 1, eval = 2, greedy = 3 };
/// Which third of a task a prompt comes from; the three never overlap.
enum class Split : std::int32_t { train = 0, validation = 1, heldout = 2 };
enum class Role : std::int32_t { prompt = 0, policy = 1, environment = 2 };
/// Why generation ended. `stop`: end-of-sequence or stop string; `length`: token limit.
enum class FinishReason : std::int32_t { stop = 0, length = 1 };

struct Prompt {
  PromptId id;
  Split split = Split::train;
  std::int32_t level = 0;  ///< static difficulty level known to the task (string length, digit
                           ///< count, ...); 0 when it knows none
  std::string text;        ///< what the policy is shown
  std::string answer;      ///< reference answer for the verifier
  std::string solution;    ///< worked answer in the wanted format, for supervised fine-tuning
  std::string domain{};    ///< category of the task it belongs to; empty when it knows none
  float prior = std::numeric_limits<float>::quiet_NaN();  ///< success that a value model expects of
                                                          ///< a rollout, 0 to 1; NaN: nobody has
                                                          ///< told
};

/// A stretch of tokens by one speaker. The per-token columns are filled for policy turns and empty
/// otherwise.
struct Turn {
  Role role = Role::prompt;
  std::vector<std::int32_t> tokens;  ///< [T]
  /// [T] log-prob (nats) of the softmax at the sampling temperature: over the ids of `kept` where
  /// the
  /// token has some, else over all, before top-k and top-p.
  std::vector<float> logprob;
  std::vector<float> entropy;                 ///< [T] entropy of that softmax (nats)
  std::vector<std::uint64_t> policy_version;  ///< [T] version that sampled the token
  /// [T] probability in the full softmax of what top-k and top-p left; empty: they left all.
  std::vector<float> kept_mass{};
  KeptTokens kept{};  ///< what they left, where sampling.logprob is "kept"
  // Of an expert's text while a step is trained on, where the objective asks what the policy would
  // have drawn there; not stored.
  MissedTokens missed{};              ///< draws other than the text's token
  std::vector<float> miss_logprob{};  ///< [T] sum over them of share * log-prob
};

/// Explicit identity of a group: the draw counts how often the prompt was drawn in this step.
struct GroupId {
  std::uint64_t step = 0;
  PromptId prompt;
  std::uint32_t draw = 0;
  auto operator<=>(const GroupId&) const = default;
};

/// `sample` numbers the rollouts of a group over all rounds; it addresses the random stream.
struct Rollout {
  std::uint32_t sample = 0;
  FinishReason finish = FinishReason::stop;
  std::vector<Turn> turns;
  std::string text;  ///< decoded policy turns
};

/// Rollouts of one prompt. Any size from 1 up; sizes differ from group to group.
struct Group {
  GroupId id;
  std::int32_t level = 0;
  std::vector<Rollout> rollouts;
  // How it came about, for readers of the archive; no stage computes with it.
  std::uint32_t planned = 0;  ///< rollouts the scheduler asked for, over all rounds; 0: not
                              ///< recorded
  std::int32_t bin = -1;      ///< difficulty bin the scheduler had the prompt in; -1: it has none
  std::uint64_t stream_prompt = 0;  ///< the `prompt` in the address of its random streams
};

/// What a generation rank, or several on a node together, publish for one round of a step.
/// Immutable once published.
struct RolloutShard {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  std::uint32_t producer = 0;  ///< world rank that sampled it, the first where there are several
  PolicyVersion policy;        ///< version that sampled it
  float temperature = 1.0F;
  std::vector<Group> groups;
};

/// Verdict on one rollout: named reward components and the scalar made of them.
struct Score {
  std::vector<double> components;  ///< in the order of ScoredShard::component_names
  double reward = 0.0;             ///< what the objective sees
  bool correct = false;            ///< what pass@k counts
  std::string answer{};      ///< extracted answer, for majority votes; empty when none was found
  bool undecided = false;    ///< the verifier came to no verdict (correct is false then)
  std::string reason{};      ///< why the verdict is what it is, in a few words; may be empty
  bool clock_ended = false;  ///< a clock ended what was judged: on another machine, or in another
                             ///< hour, the verdict might be another
};

/// Scores of one shard, keyed like it: groups and rollouts in the shard's order.
struct ScoredShard {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  std::uint32_t producer = 0;  ///< of the shard that was scored
  std::vector<std::string> component_names;
  std::vector<std::vector<Score>> scores;  ///< [groups][rollouts]
};

}  // namespace rollcall
