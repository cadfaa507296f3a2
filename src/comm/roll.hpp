// What the communicators of one rank have in common: the rank's number in the world, what it does
// at the moment, and how it asks other ranks, and answers them, in a wait that lasts too long.
#pragma once

#include "comm/activity.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rollcall::comm {

/// One object per rank, shared by all communicators derived from one world. This class is for ranks
/// that cannot ask each other, such as threads; over MPI it is a RollCall.
struct Roll {
  explicit Roll(int number = 0) : world_rank(number) {}
  virtual ~Roll() = default;

  /// Called before every sleep of a wait. Notes for other threads what this rank waits for, and
  /// answers ranks that have asked for it.
  void begin_sleep(std::string_view waiting_for) {
    activity->waits(waiting_for);
    answer(waiting_for);
  }
  /// Tells ranks that have asked what this rank waits for.
  virtual void answer(std::string_view) {}
  /// Asks a rank of the world whether it is alive, unless `asked` is set already, and sets `asked`.
  /// Returns true once the rank has answered.
  virtual bool hears(int, bool&) { return false; }
  /// Asks all ranks what they wait for, and describes their answers for the error of a wait.
  virtual std::string call(std::string_view) {
    return "the rank that should have sent it is stuck, has ended or is slower than the deadline "
           "allows";
  }

  std::shared_ptr<Activity> activity = std::make_shared<Activity>();  ///< what this rank does
  std::function<std::string(int)> role;  ///< what a rank of the world hosts, for error messages
  int world_rank;  ///< this rank's number in messages and roll calls, whatever group it is in
};

}  // namespace rollcall::comm
