// Plays stored conversations again. Their environment gets the stored actions, and must return the
// words, rewards and flags that the archive has.
#pragma once

#include "environment/answer_queue.hpp"
#include "environment/partner.hpp"
#include "io/archive.hpp"
#include "run/generation/conversation.hpp"
#include "run/messages/actions.hpp"
#include "text/chat/turn_texts.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

class ReplayedConversations {
 public:
  /// The findings.
  struct Found {
    std::uint64_t equal = 0, different = 0;
    std::uint64_t lost = 0;  ///< their environment had lost them, so they were not played
    /// The first conversation that differs, in the order of the archive, and its first difference;
    /// empty if there is none.
    std::string first{};
  };

  /// `seed`: the run's seed. All arguments must outlive this object.
  ReplayedConversations(std::uint64_t seed, const text::TurnTexts& texts,
                        environment::Partner& partner)
      : seed_(seed), texts_(&texts), partner_(&partner) {}
  ~ReplayedConversations();
  ReplayedConversations(const ReplayedConversations&) = delete;
  ReplayedConversations& operator=(const ReplayedConversations&) = delete;

  /// Plays the conversations of a group. Rollouts that no environment answered are not
  /// conversations.
  void add(const io::ArchivedGroup& archived);
  /// Waits for the conversations that are still played.
  const Found& finish();

 private:
  struct Playing {
    std::string name;  ///< "train step 3, prompt 7, draw 0, sample 2"
    Prompt prompt;
    Rollout stored;
    std::vector<ActionTurns> actions;
    std::vector<environment::Seeds> seeds;  ///< [actions] the seeds of the rollout that took each
                                            ///< action first
    std::optional<Conversation> talk{};
    std::size_t next = 0;  ///< the action that is played next, or waits for its answer
    bool has_begun = false;
    std::vector<std::int32_t> sampled{};  ///< tokens of the actions so far
  };
  using Open = std::map<std::uint64_t, Playing>;

  void open(const io::ArchivedGroup& archived, std::size_t index);
  void go_on(Open::iterator playing, std::optional<environment::Answer> answer);
  std::string take(Playing& playing, environment::Answer answer);
  std::optional<environment::Answer> ask(Playing& playing, std::uint64_t number);
  bool act(Playing& playing);
  void settle(Open::iterator playing, const std::string& difference);
  void await();

  std::uint64_t seed_;
  const text::TurnTexts* texts_;
  environment::Partner* partner_;
  environment::AnswerQueue queue_;
  Open open_;  ///< by number, in the order of the archive
  std::uint64_t opened_ = 0;
  std::uint64_t first_ = 0;  ///< number of the conversation that Found::first names
  Found found_;
};

}  // namespace rollcall::run
