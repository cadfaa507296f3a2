// Finds the functions that another thread of this process is in, by interrupting it with a signal.
#pragma once

#include <string>
#include <vector>

namespace rollcall {

int own_thread();  ///< the kernel's id of the calling thread

/// Reserves a real-time signal and loads the libraries that unwinding needs, so that no signal
/// handler has to. Called before the first look. Further calls do nothing.
void prepare_to_look();

struct ThreadView {
  std::string state;  ///< "running", "in read" (a system call), "gone"
  /// Names, innermost first. Empty if the thread does not take signals, as in a call that cannot be
  /// interrupted.
  std::vector<std::string> frames;
};

/// Looks at one thread; only one look at a time per process. Takes up to half a second if the
/// thread does not answer. The thread's system calls are restarted (SA_RESTART), but those that the
/// kernel never restarts, such as nanosleep, return early.
ThreadView look_at_thread(int thread, std::size_t most_frames);

/// Numbers of the threads that compute, or that are in a system call other than those in which
/// threads rest (waiting for a lock, a message or a time). A thread that sleeps in an unknown call
/// counts as resting.
std::vector<int> busy_threads();

}  // namespace rollcall
