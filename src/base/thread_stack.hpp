// What another thread of this process is executing, asked for by a signal while it runs on.
#pragma once

#include <string>
#include <vector>

namespace rollcall {

int own_thread();  ///< its number in the kernel

/// Takes the signal (a real-time one) and loads what unwinding needs, so that no handler has to.
/// Once, before the first look; the calls after it do nothing.
void prepare_to_look();

struct ThreadView {
  std::string state;                ///< "running", "in read" (a call of the kernel), "gone"
  std::vector<std::string> frames;  ///< innermost first, by name; empty where the thread does not
                                    ///< take signals, as in a call that cannot be interrupted
};

/// One look at a time in a process. Takes up to half a second where the thread does not answer. The
/// thread's system calls are restarted (SA_RESTART); those that the kernel never restarts, such as
/// nanosleep, return early.
ThreadView look_at_thread(int thread, std::size_t most_frames);

/// Threads that compute or are held in a call of the kernel other than the ones in which threads
/// rest: for a lock, for a message, for a while.
std::vector<int> busy_threads();

}  // namespace rollcall
