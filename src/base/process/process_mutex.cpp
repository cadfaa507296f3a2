// POSIX mutexes that are shared between processes and robust against the death of their owner.
#include "base/process/process_mutex.hpp"

#include "base/errors/error.hpp"

#include <cerrno>

namespace rollcall {

ProcessMutex::ProcessMutex() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int code = pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
  require<EnvironmentError>(code == 0, "cannot create a mutex shared between processes",
                            "the ranks of a node add into one sum",
                            "use a system with POSIX robust mutexes");
}

void ProcessMutex::lock() {
  const int code = pthread_mutex_lock(&mutex_);
  if (code == EOWNERDEAD)
    // A mutex that is unlocked without being made consistent is unusable from then on, so all
    // other processes get an error too.
    pthread_mutex_unlock(&mutex_);
  require<ProtocolError>(code == 0, "a rank of this node ended while it added to a sum",
                         "what it left is not whole",
                         "see the first error of the job, then resume");
}

}  // namespace rollcall
