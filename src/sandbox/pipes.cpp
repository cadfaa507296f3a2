// Makes pipes that close on exec, with our end non-blocking.
#include "sandbox/pipes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace rollcall::sandbox {

Pipe make_pipe(Flow flow) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  if (flow == Flow::in) std::swap(ends[0], ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {ends[0], ends[1]};
}

void close_descriptor(int& descriptor) {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

}  // namespace rollcall::sandbox
