// Counts what the driver of rollouts did for a plan. Generation sends the counts along with the
// shard.
#pragma once

#include <cstdint>

namespace rollcall::run {

/// Sums over the rollouts of a plan or, added up, of a step.
struct DriverFigures {
  std::int64_t turns = 0;           ///< of the policy
  std::int64_t told_tokens = 0;     ///< said by others between and after its turns
  std::int64_t sampled_tokens = 0;  ///< each once, also where several rollouts share it
  std::int64_t lost = 0;            ///< conversations that the environment lost
  std::int64_t cut_by_turns = 0;    ///< conversations that the limit of turns ended
  std::int64_t conversations = 0;   ///< all of them
  std::int64_t unasked = 0;         ///< those whose first turn a limit of tokens cut, so that the
                                    ///< environment was asked nothing
  std::int64_t no_room = 0;         ///< those that lacked_room() for what the environment said
  std::int64_t restarted = 0;       ///< processes that took the place of failed ones
  std::int64_t forks_unmade = 0;    ///< forks without a state to go on from
  double waited_s = 0.0;            ///< in which no sequence advanced although some were not over
  double answered_s = 0.0;          ///< sum of the seconds between questions and answers

  void add(const DriverFigures& more) {
    turns += more.turns, told_tokens += more.told_tokens, sampled_tokens += more.sampled_tokens;
    lost += more.lost, cut_by_turns += more.cut_by_turns, restarted += more.restarted;
    forks_unmade += more.forks_unmade;
    conversations += more.conversations, unasked += more.unasked, no_room += more.no_room;
    waited_s += more.waited_s, answered_s += more.answered_s;
  }
  template <class A>
  void serialize(A& ar, unsigned) {
    ar& turns& told_tokens& sampled_tokens& lost& cut_by_turns& restarted& forks_unmade& waited_s&
        answered_s;
    ar& conversations& unasked& no_room;
  }
};

}  // namespace rollcall::run
