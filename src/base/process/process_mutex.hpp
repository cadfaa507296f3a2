// A mutex that works between processes if it lies in memory that they share.
#pragma once

#include <pthread.h>

namespace rollcall {

/// Constructed once, by the process that prepares the memory. If its owner dies, every later lock()
/// throws, because the guarded data may be incomplete.
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
