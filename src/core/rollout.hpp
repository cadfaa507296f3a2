// The vocabulary of a run: prompts, turns, rollouts, groups, shards. Plain values, no behaviour.
#pragma once

#include "base/numbers/id.hpp"
#include "core/derivation.hpp"
#include "core/group_id.hpp"
#include "core/kept_tokens.hpp"
#include "core/missed_tokens.hpp"
#include "core/token_columns.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rollcall {

/// What a rollout is drawn for. Only `train` rollouts are trained on. There is one `greedy` rollout
/// per prompt, whose reward the objective may use as a baseline.
enum class Purpose : std::int32_t { train = 0, validation = 1, eval = 2, greedy = 3 };
/// The part of a task that a prompt comes from; the three parts never overlap.
enum class Split : std::int32_t { train = 0, validation = 1, heldout = 2 };
enum class Role : std::int32_t { prompt = 0, policy = 1, environment = 2 };
/// Why generation ended. `stop`: end-of-sequence or stop string, and in a conversation the
/// environment; `length`: token limit; `turns`: turn limit; `lost`: the environment gave no usable
/// answer.
enum class FinishReason : std::int32_t { stop = 0, length = 1, turns = 2, lost = 3 };

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
  /// The input of a chat template, if it is more than `text` as the user's message: JSON with
  /// "messages" and perhaps "tools" (text/chat/prompt_conversation.hpp). `text` then has the same
  /// in words. Empty otherwise.
  std::string conversation{};
};

/// Bits of TurnFacts::flags. The archive stores them.
namespace turn_flag {
inline constexpr std::int64_t invalid = 1;     ///< the action could not be read
inline constexpr std::int64_t void_turn = 2;   ///< it is neither a call nor an answer
inline constexpr std::int64_t error = 4;       ///< what it asked for failed
inline constexpr std::int64_t patched = 8;     ///< another action was carried out in its place
inline constexpr std::int64_t repeated = 16;   ///< the conversation had this action before
inline constexpr std::int64_t decided = 32;    ///< the environment said whether the task is solved
inline constexpr std::int64_t correct = 64;    ///< with `decided`: it is
inline constexpr std::int64_t ended = 128;     ///< the environment failed while it answered this
inline constexpr std::int64_t given = 256;     ///< in a policy turn: its tokens were not sampled
inline constexpr std::int64_t by_clock = 512;  ///< with `ended`: a time limit ended it
inline constexpr std::int64_t moved = 1024;    ///< trains after a different prompt than the one
                                               ///< that was asked; not stored
}  // namespace turn_flag

/// What an environment made of a policy turn. For an environment's turn only `state` is set, to the
/// state after it. For a prompt nothing is set, except that `flags` and `reason` say why the
/// conversation was lost before it began.
struct TurnFacts {
  double reward = 0.0;
  /// In the order of the environment's components; empty if it named none.
  std::vector<double> components{};
  /// 64-bit hash of the state in which the action was taken; 0: there is no environment. If the
  /// environment does not reveal its state, it is the hash of what the environment said last.
  std::uint64_t state = 0;
  std::uint64_t action = 0;  ///< 64-bit hash of the action's text
  std::int64_t flags = 0;    ///< turn_flag
  std::int64_t kind = 0;     ///< kind of the action, as the environment numbers kinds; 0: none
  std::int64_t seat = 0;     ///< who speaks, if there are several speakers
  std::string reason{};      ///< why the reward or the verdict is what it is; may be empty
  bool operator==(const TurnFacts&) const = default;
};

/// A run of tokens by one author. The per-token columns are filled for policy turns only.
struct Turn {
  Role role = Role::prompt;
  std::vector<std::int32_t> tokens;  ///< [T]
  /// [T] Log-prob and entropy of the softmax at the sampling temperature: over the ids of `kept` if
  /// the token has such a list, otherwise over the whole vocabulary, before top-k and top-p. The
  /// column miss_logprob goes with `missed`, and is not stored either.
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

/// `sample` numbers the rollouts of a group over all rounds of the step. It is part of the address
/// of the rollout's random stream.
struct Rollout {
  std::uint32_t sample = 0;
  FinishReason finish = FinishReason::stop;
  std::vector<Turn> turns;
  std::string text;                ///< the policy's turns as text (run/messages/actions.hpp)
  std::vector<TurnFacts> facts{};  ///< [turns]; empty if no turn has any
  /// Number of the opening that it was given (run/generation/openings.hpp); 0: it began where its
  /// prompt ends.
  std::int64_t opening = 0;
  /// The rollout of its group that it was forked from, and how many policy tokens they have in
  /// common; -1: it was sampled from its beginning.
  std::int64_t parent = -1, fork_token = -1;
  /// The derived group in which it was sampled, if it trains in its parent's group. Empty: it
  /// trains where it was sampled. It is set when a step is closed and is not stored.
  std::optional<GroupId> placed{};
  Derivation placed_from{};  ///< with `placed`: why that group was asked. It never leaves the rank
};

/// Whether a policy turn was given rather than sampled and still trains (turn_flag::given).
inline bool was_given(const Rollout& rollout, std::size_t turn) {
  return turn < rollout.facts.size() && (rollout.facts[turn].flags & turn_flag::given) != 0;
}

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
  Derivation from{};                ///< stages compute with it: it decides where the group trains
  std::string start{};  ///< state in which its conversations began; empty: the environment's own
};

/// What one generation rank, or several ranks of a node together, publish for one round of a step.
/// It never changes once it is published.
struct RolloutShard {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0;
  std::uint32_t producer = 0;  ///< world rank that sampled the shard, or the first of several
  PolicyVersion policy;        ///< version of the policy that sampled the shard
  float temperature = 1.0F;
  std::vector<Group> groups;
};

/// The verdict on one rollout: named components of the reward, and the reward made from them.
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
