// Why a run gets no further, from what its ranks say of themselves. Pure: no clock, no file.
#pragma once

#include "watch/watch.hpp"

#include <string>
#include <vector>

namespace rollcall::watch {

struct Explanation {
  bool silent = false;               ///< nobody has got anything done for `watch_s`
  double quiet_s = 0.0;              ///< since the last progress of any rank
  std::vector<std::string> lines{};  ///< empty unless silent: the suspects with their stacks, then
                                     ///< the others by what they wait for
};

/// `now`: Unix time on rank 0's node. A rank that has not written for half of `watch_s` counts as
/// stopped (it writes twelve times in `watch_s` or more often, and at least every 10 s).
Explanation explain(const WatchFile& file, double now, double watch_s);

/// The time by which to judge: the newest sign of life, unless the reader's own clock says that
/// this is older than `watch_s`. So a reader whose clock is wrong by less takes nobody for stopped.
double time_of(const WatchFile& file, double readers_clock, double watch_s);

/// What ranks did last, one sentence a group: of a run that is no more.
std::vector<std::string> last_seen(const WatchFile& file);

/// Says an explanation when it begins to hold, again each time the silence has doubled, and when it
/// is over.
class SilenceTeller {
 public:
  std::vector<std::string> tell(const Explanation& explanation);

 private:
  double next_s_ = 0.0, longest_s_ = 0.0;
};

}  // namespace rollcall::watch
