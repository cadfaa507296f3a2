// The rollouts of a plan while they are sampled: how each begins, its conversation, and the
// requests that sample them.
#pragma once

#include "base/time/clock.hpp"
#include "core/plan.hpp"
#include "environment/partner.hpp"
#include "model/decode/decode.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/conversation.hpp"
#include "run/generation/forks/fork_rule.hpp"
#include "run/generation/openings.hpp"
#include "run/generation/repeated_losses.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// The objects that the driver has for all plans. All of them outlive the rollouts.
struct DriverParts {
  RunContext* context = nullptr;
  environment::Partner* partner = nullptr;  ///< null in a run without an environment
  const RepeatedLosses* losses = nullptr;
  const ForkRule* forks = nullptr;       ///< null: rollouts do not fork
  std::span<const std::int32_t> exit{};  ///< what is said at an exit; empty: there are none
};

struct OpenRollout {
  std::uint32_t sample = 0;
  RolloutOpening opening{};
  std::size_t question = 0;                   ///< index into OpenGroup::questions
  std::int64_t most = 0;                      ///< tokens that its first turn may sample; 0: none
  std::optional<Conversation> talk{};         ///< nothing: there is no environment
  std::vector<PlayedTurn> turns{};            ///< without an environment: before its last turn
  std::int64_t parent = -1, fork_token = -1;  ///< as in Rollout
  std::uint32_t leaf = 0,
                leaves = 0;  ///< rollouts [leaf, leaf + leaves) of the group may be forked
                             ///< from it
  std::int64_t unmade = 0;   ///< forks for which the environment has handed out no state
  std::vector<model::Branch> branches{};  ///< of a turn that waits for its answer
  bool is_asked = false;                  ///< the partner holds its conversation
  Stopwatch asked{};                      ///< since the question that waits for an answer
  double answered_s = 0.0;
};

struct OpenGroup {
  const GroupPlan* plan = nullptr;
  Prompt prompt{};
  std::string info{};          ///< Talk::info
  std::uint64_t address = 0;   ///< of its random streams
  std::uint32_t unforked = 0;  ///< rollouts that are sampled from their beginning
  bool exits = false;          ///< the others leave the first one's way
  /// The tokens of the prompts that rollouts are asked. The group's own prompt is the first.
  std::vector<std::vector<std::int32_t>> questions{};
  std::map<std::string, std::size_t> question_of{};  ///< by text, those after the first
  std::vector<OpenRollout> rollouts{};
};

/// The seeds of a rollout's conversation. `split`: of the plan.
environment::Seeds seeds_of(const DriverParts& parts, Split split, const OpenGroup& group,
                            std::uint32_t sample);

/// Different threads may use different rollouts at the same time. Whatever happens, the partner
/// holds none of their conversations once this is gone.
class OpenRollouts {
 public:
  /// `openings`: as Openings::of gives them.
  OpenRollouts(const DriverParts& parts, const StepPlan& plan, const PromptBook& book,
               std::vector<std::vector<RolloutOpening>> openings);
  ~OpenRollouts();
  OpenRollouts(const OpenRollouts&) = delete;
  OpenRollouts& operator=(const OpenRollouts&) = delete;

  /// Learns how the conversations begin and what each rollout is asked. Ends early where the step
  /// is cut.
  void begin();
  /// One request for successive rollouts of a group that begin alike. Rollouts without room for a
  /// token are in none.
  std::vector<model::DecodeRequest> requests();
  bool may_branch() const;  ///< whether rollouts of the plan may fork or exit

  std::vector<OpenGroup>& groups() { return groups_; }
  OpenRollout& at(const model::SequencePlace& place);
  /// The position in the shard of the sequence at a place.
  std::pair<std::size_t, std::size_t> in_shard(const model::SequencePlace& place) const;

  /// Asks for the answer to the last action of a conversation, or for its start.
  std::optional<environment::Answer> ask(OpenRollout& rollout, std::uint64_t conversation,
                                         environment::AnswerQueue& queue);
  /// Notes that `answers` questions are answered that had to wait. Where there are none, the watch
  /// of the ranks is told how many wait. Any thread may call it.
  void heard(std::size_t answers);
  void close(OpenRollout& rollout);
  environment::AnswerQueue& new_queue();  ///< any thread may call it
  void add_wait(double seconds);          ///< any thread may call it
  double waited_s() const { return waited_s_; }
  const DriverParts& parts() const { return parts_; }
  const StepPlan& plan() const { return *plan_; }

 private:
  struct Opened {
    std::size_t group = 0;
    std::uint32_t before = 0;  ///< rollouts of the group before the request's first one
  };
  void add_group(const GroupPlan& plan, std::vector<RolloutOpening> openings);
  void begin(OpenGroup& group, OpenRollout& rollout, environment::Answer start);
  void ask_question(OpenGroup& group, OpenRollout& rollout, std::string question);

  DriverParts parts_;
  const StepPlan* plan_;
  const PromptBook* book_;
  std::deque<environment::AnswerQueue> queues_;  ///< they outlive the conversations
  std::mutex mutex_;                             ///< guards queues_ and waited_s_
  std::atomic<std::size_t> awaited_ = 0;         ///< answers that have not come yet
  std::atomic<bool> is_told_ = false;            ///< the watch was told of them
  double waited_s_ = 0.0;
  std::vector<OpenGroup> groups_;
  std::vector<Opened> opened_;  ///< [requests]
};

}  // namespace rollcall::run
