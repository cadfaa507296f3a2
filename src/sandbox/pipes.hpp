// Pipes of a run, closed when they go out of scope.
#pragma once

#include <array>

namespace rollcall::sandbox {

/// A pipe between a worker and a program. `ours` does not block. Both ends are closed on exec, and
/// are -1 if the system has no descriptors left.
struct Pipe {
  int ours = -1, theirs = -1;
};

enum class Flow { in, out };  ///< into the program, out of it
Pipe make_pipe(Flow flow);
void close_descriptor(int& descriptor);

/// The pipes of one run: standard input, output and error, and any others. An end that was handed
/// on is set to -1.
template <std::size_t N>
struct Pipes {
  std::array<Pipe, N> all;
  Pipes() = default;
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;
  ~Pipes() {
    close_theirs();
    for (Pipe& pipe : all) close_descriptor(pipe.ours);
  }
  void close_theirs() {
    for (Pipe& pipe : all) close_descriptor(pipe.theirs);
  }
  bool complete() const {
    for (const Pipe& pipe : all) {
      if (pipe.ours < 0) return false;
    }
    return true;
  }
};

}  // namespace rollcall::sandbox
