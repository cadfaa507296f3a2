// The pipes of one process of a verifier's command: what is still to be written to it, and what it
// has written so far. Nothing here blocks.
#pragma once

#include "reward/command/message.hpp"
#include "reward/command/spawner.hpp"

#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace rollcall::reward {

class Conversation {
 public:
  explicit Conversation(Child child) : child_(std::move(child)) {}
  const Child& child() const { return child_; }

  /// The sample's line; the one before has been answered.
  void send(const Sample& sample);
  bool has_to_write() const { return written_ < to_write_.size(); }
  void write();
  /// What there is of output, up to a bound, so that one that floods does not hold up the others.
  /// False: it has closed it.
  bool read();
  /// The same of standard error, as it comes.
  void read_errors(const std::function<void(std::string_view)>& errors);
  Lines& lines() { return lines_; }

  const std::string& asked() const {
    return asked_;
  }                                                ///< id of the sample that waits for its
                                                   ///< verdict; empty: none
  void answered();                                 ///< it has its verdict
  bool has_answered(const std::string& id) const;  ///< one of the last few
  int repeats = 0;                                 ///< replies to what it had answered before

 private:
  Child child_;
  Lines lines_;
  std::string to_write_, asked_;
  std::size_t written_ = 0;
  bool errors_open_ = true;
  std::deque<std::string> answered_;
};

}  // namespace rollcall::reward
