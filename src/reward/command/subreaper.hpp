// The small process that a spawner forks. It starts commands, adopts processes that leave their
// process groups, and ends all of them. Only the spawner uses it.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace rollcall::reward {

/// The largest number of bytes in a request, a third of a Unix socket's default capacity.
inline constexpr std::size_t kPacket = 65536;

struct Request {
  /// 0 asks to start a command. Its words follow in the packet, each with a terminating zero byte.
  pid_t end = 0;
  int grace_ms = 0;  ///< for an end: the time that the process may take to end by itself
};
struct Answer {
  pid_t pid = -1;   ///< for a start: the process; the ends of its three standard streams come with
                    ///< it
  int failure = 0;  ///< for a start: its errno
  int status = 0;   ///< for an end: the status from waitpid
  int had_ended = 0;  ///< for an end: whether the process had ended before the request
};

/// Serves the other end of the socket until that is closed, then ends all processes and itself.
[[noreturn]] void run_subreaper(int socket);

}  // namespace rollcall::reward
