// Finds out why a run makes no progress, from the records of its ranks. The functions are pure and
// use no clocks or files.
#pragma once

#include "watch/watch.hpp"

#include <string>
#include <vector>

namespace rollcall::watch {

struct Explanation {
  bool silent = false;               ///< no rank has made progress for `watch_s`
  double quiet_s = 0.0;              ///< time since the last progress of any rank
  std::vector<std::string> lines{};  ///< empty unless silent: first the suspects with their stacks,
                                     ///< then the other ranks, grouped by their waits
};

/// `now` is Unix time on rank 0's node. A rank counts as stopped if its last record is older than
/// half of `watch_s`; it writes at least twelve times in `watch_s`, and at least every 10 s.
Explanation explain(const WatchFile& file, double now, double watch_s);

/// The value of `now` for explain(): the time of the newest record, or the reader's own clock if
/// that is more than `watch_s` later. So a reader with a clock that is off by less than `watch_s`
/// mistakes no rank for stopped.
double time_of(const WatchFile& file, double readers_clock, double watch_s);

/// The last activities of the ranks of a finished run, one sentence per group of ranks.
std::vector<std::string> last_seen(const WatchFile& file);

/// Decides when to print an explanation: when the silence begins and each time its length has
/// doubled. When it is over, one line says so.
class SilenceTeller {
 public:
  std::vector<std::string> tell(const Explanation& explanation);  ///< the lines to print now

 private:
  double next_s_ = 0.0, longest_s_ = 0.0;
};

}  // namespace rollcall::watch
