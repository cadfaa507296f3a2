// The pipes of one process of a command: the bytes still to be written to it, and the lines that it
// has written. No function blocks.
#pragma once

#include "reward/command/message.hpp"
#include "reward/command/spawner.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::reward {

class ChildPipes {
 public:
  explicit ChildPipes(Child child) : child_(std::move(child)) {}
  const Child& child() const { return child_; }

  /// Begins to write a line, which ends with its newline, after those that are not yet written.
  void send(const std::string& line);
  bool has_to_write() const { return written_ < to_write_.size(); }
  void write();
  /// Reads the available output, up to `most` pieces of 64 KiB, so that a process that writes a
  /// flood of output does not delay the others. Returns false if the process has closed its output.
  bool read(int most = 4);
  /// Passes on what the process has written to standard error.
  void read_errors(const std::function<void(std::string_view)>& errors);
  Lines& lines() { return lines_; }

 private:
  Child child_;
  Lines lines_;
  std::string to_write_;
  std::size_t written_ = 0;
  bool errors_open_ = true;
};

/// Sleeps until `wake` is readable or a process has written or can be written to, at most `left_s`
/// seconds and never longer than a quarter of a second; infinity: without a limit. Missing
/// processes are null.
void wait_for(int wake, const std::vector<const ChildPipes*>& processes, double left_s);

}  // namespace rollcall::reward
