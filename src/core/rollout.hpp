// The vocabulary of a run: prompts, turns, rollouts, groups, shards. Plain values, no behaviour.
#pragma once

#include "base/numbers/id.hpp"
#include "core/kept_tokens.hpp"
#include "core/missed_tokens.hpp"
#include "core/token_columns.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rollcall {

/// What a rollout is drawn for. Only `train` rollouts are trained on. There is one `greedy` rollout
/// per prompt, whose reward the objective may use as a baseline.
enum class Purpose : std::int32_t { train = 0, validation = 1, eval = 2, greedy = 3 };
/// The part of a task that a prompt comes from; the three parts never overlap.
enum class Split : std::int32_t { train = 0, validation = 1, heldout = 2 };
enum class Role : std::int32_t { prompt = 0, policy = 1, environment = 2 };
/// Why generation ended. `stop`: end-of-sequence or stop string; `length`: token limit.
enum class FinishReason : std::int32_t { stop = 0, length = 1 };

struct Prompt {
  PromptId id;
  Split split = Split::train;
  std::int32_t level = 0;  ///< difficulty as the task knows it (string length, digit count, ...); 0
                           ///< if it knows none
  std::string text;        ///< what the policy is shown
  std::string answer;      ///< reference answer for the verifier
  std::string solution;    ///< worked answer in the wanted format, for supervised fine-tuning
  std::string domain{};    ///< category of the prompt within the task; empty if it has none
  float prior = std::numeric_limits<float>::quiet_NaN();  ///< success that a value model expects of
                                                          ///< a rollout, 0 to 1; NaN if not given
  /// What a chat template is given if that is more than `text` as the user's message: JSON with
  /// "messages" and perhaps "tools" (text/chat/prompt_conversation.hpp). `text` then has the same
  /// in words. Empty otherwise.
  std::string conversation{};
};

/// A run of tokens by one author. The columns of numbers per token are filled for policy turns
/// only.
struct Turn {
  Role role = Role::prompt;
  std::vector<std::int32_t> tokens;  ///< [T]
  /// [T] Log-prob and entropy of the softmax at the sampling temperature: over the ids of `kept`
  /// where the token has such a list, otherwise over the whole vocabulary, before top-k and top-p.
  /// The column miss_logprob goes with `missed`, and is not stored either.
  TokenColumns columns{};
  std::vector<std::uint64_t> policy_version{};  ///< [T] the version that sampled each token
  /// [T] probability mass, in the full softmax, of the tokens that top-k and top-p kept; empty if
  /// they kept all
  std::vector<float> kept_mass{};
  KeptTokens kept{};  ///< the tokens that top-k and top-p kept, if sampling.logprob is "kept"
  /// Draws that differ from the text's token. They are set for an expert's text while a step is
  /// trained on, if the objective asks what the policy would have drawn there. They are not stored.
  MissedTokens missed{};
};

/// What identifies a group. `draw` counts how often the prompt was drawn in this step before.
struct GroupId {
  std::uint64_t step = 0;
  PromptId prompt;
  std::uint32_t draw = 0;
  auto operator<=>(const GroupId&) const = default;
};

/// `sample` numbers the rollouts of a group over all rounds of the step. It is part of the address
/// of the rollout's random stream.
struct Rollout {
  std::uint32_t sample = 0;
  FinishReason finish = FinishReason::stop;
  std::vector<Turn> turns;
  std::string text;  ///< the policy's turns as text
};

/// Rollouts of one prompt, at least one. Groups may differ in size.
struct Group {
  GroupId id;
  std::int32_t level = 0;
  std::vector<Rollout> rollouts;
  // For readers of the archive: how the group came about. No stage computes with these.
  std::uint32_t planned = 0;  ///< rollouts that the scheduler asked for, over all rounds; 0 if not
                              ///< recorded
  std::int32_t bin = -1;  ///< difficulty bin that the scheduler had the prompt in; -1 if it has no
                          ///< bins
  std::uint64_t stream_prompt = 0;  ///< the prompt number in the address of the group's random
                                    ///< streams
};

/// What one generation rank, or several ranks of a node together, publish for one round of a step.
/// It never changes once it is published.
struct RolloutShard {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  std::uint32_t producer = 0;  ///< world rank that sampled the shard; of several ranks the first
  PolicyVersion policy;        ///< version of the policy that sampled the shard
  float temperature = 1.0F;
  std::vector<Group> groups;
};

/// The verdict on one rollout: named components of the reward, and the reward made of them.
struct Score {
  std::vector<double> components;  ///< values in the order of ScoredShard::component_names
  double reward = 0.0;             ///< what the objective sees
  bool correct = false;            ///< what pass@k counts
  std::string answer{};      ///< extracted answer, for majority votes; empty if none was found
  bool undecided = false;    ///< the verifier gave no verdict; `correct` is false then
  std::string reason{};      ///< why the verdict is what it is, in a few words; may be empty
  bool clock_ended = false;  ///< a time limit ended the verifier, so on another machine or at
                             ///< another time the verdict might differ
};

/// Scores of one shard, in the shard's order of groups and rollouts.
struct ScoredShard {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  std::uint32_t producer = 0;  ///< producer of the shard that was scored
  std::vector<std::string> component_names;
  std::vector<std::vector<Score>> scores;  ///< [groups][rollouts]
};

}  // namespace rollcall
