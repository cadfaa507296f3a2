// The small process that a spawner forks: it starts commands, adopts what escapes from their
// process groups, and ends all of it. Private to the spawner.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace rollcall::reward {

inline constexpr std::size_t kPacket = 65536;  ///< bytes of a request: a third of what a Unix
                                               ///< socket takes by default

struct Request {
  pid_t end = 0;     ///< 0: start the words that follow in the packet, each with its zero byte
  int grace_ms = 0;  ///< of an end: how long it may still take to end by itself
};
struct Answer {
  pid_t pid = -1;     ///< of a start; the ends of its standard input, output and error come along
  int failure = 0;    ///< errno of a start
  int status = 0;     ///< of an end: as waitpid tells it ...
  int had_ended = 0;  ///< ... and whether it had ended before it was asked for
};

/// Serves the other end of the socket until that is closed, then ends everything and this process.
[[noreturn]] void run_subreaper(int socket);

}  // namespace rollcall::reward
