// The pipes of one process of a verifier's command: the bytes still to be written to it, and the
// lines that it has written. No function blocks.
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

  /// Begins to write a sample's line; the sample before must have been answered.
  void send(const Sample& sample);
  bool has_to_write() const { return written_ < to_write_.size(); }
  void write();
  /// Reads the output that is there, up to a bound, so that a process that floods does not delay
  /// the others. Returns false if the process has closed its output.
  bool read();
  /// Passes on what the process has written to standard error.
  void read_errors(const std::function<void(std::string_view)>& errors);
  Lines& lines() { return lines_; }

  /// Id of the sample that waits for its verdict; empty if no sample does.
  const std::string& asked() const { return asked_; }
  /// Says that the sample asked() has its verdict.
  void answered();
  /// whether the sample with this id is among the last few that were answered
  bool has_answered(const std::string& id) const;
  int repeats = 0;  ///< number of replies to samples that the process had answered already

 private:
  Child child_;
  Lines lines_;
  std::string to_write_, asked_;
  std::size_t written_ = 0;
  bool errors_open_ = true;
  std::deque<std::string> answered_;
};

}  // namespace rollcall::reward
