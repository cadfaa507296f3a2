// A mutex that also works among processes, when it lies in memory that they share.
#pragma once

#include <pthread.h>

namespace rollcall {

/// Made once, by whoever prepares the memory; ends with it. When its owner has died, all that lock
/// it throw: what it guarded is not whole.
class alignas(64) ProcessMutex {
 public:
  ProcessMutex();
  ProcessMutex(const ProcessMutex&) = delete;
  ProcessMutex& operator=(const ProcessMutex&) = delete;
  void lock();  ///< throws ProtocolError
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

}  // namespace rollcall
