// The roll call over MPI: a rank that has waited too long asks all others what they wait for, and
// names those that do not answer. Private to comm.
#pragma once

#include "base/time/clock.hpp"
#include "comm/roll.hpp"

#include <mpi.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::comm {

/// One sentence per group of ranks: first the ranks without an answer, then the others by what they
/// wait for. `answers` is [ranks], without a value for a silent rank. The caller itself is left
/// out. `role` says what a rank hosts.
std::string describe_roll(const std::vector<std::optional<std::string>>& answers, int caller,
                          const std::function<std::string(int)>& role);

/// The questions and answers have their own message space.
class RollCall final : public Roll {
 public:
  explicit RollCall(MPI_Comm world);  ///< collective
  ~RollCall() override;
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  int size() const { return size_; }
  /// Called before every sleep of a wait, but looks for questions only a few dozen times a second.
  void answer(std::string_view waiting_for) override;
  /// Waits up to two seconds for the answers. The text begins with what this rank itself does.
  std::string call(std::string_view waiting_for) override;
  /// `rank` must be the same in all calls. True once it has answered the latest question.
  bool hears(int rank, bool& asked) override;

  int moving = 0;  ///< unfinished messages that this rank sends or receives, in all its
                   ///< communicators; MPI moves them on only inside MPI calls

 private:
  struct Reply {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void ask(int rank);
  std::optional<std::pair<int, std::string>> take_answer();  ///< the rank that answered, and what
                                                             ///< it waits for
  void drop_sent();  ///< removes replies that have been delivered

  MPI_Comm comm_ = MPI_COMM_NULL;
  int size_ = 1;
  int owed_ = 0;              ///< questions of hears() that are not answered yet
  Stopwatch looked_;          ///< time since the last look for questions
  std::list<Reply> replies_;  ///< a list, because MPI keeps pointers into its elements
};

}  // namespace rollcall::comm
