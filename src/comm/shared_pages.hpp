// Memory pages that belong to one process, or that processes of one node share. Private to comm.
#pragma once

#include "core/shared_memory.hpp"

#include <optional>
#include <string>

namespace rollcall::comm {

/// Maps zeroed pages that belong to this process alone, or, with `file`, those of an open file.
/// Throws EnvironmentError.
SharedMemory map_pages(std::size_t bytes, int file = -1);

/// Shared memory without a name in a file system: other processes open it through the process that
/// made it, and nothing is left of it if that process is killed. An MPI window would be a file in
/// /dev/shm (tried with Open MPI), which has only 64 MB in a container by default.
class SharedPages {
 public:
  explicit SharedPages(std::size_t bytes);  ///< throws EnvironmentError
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  int file() const { return file_; }
  std::string address() const;  ///< for open_pages() in another process; valid while this object
                                ///< lives

 private:
  int file_ = -1;
};
/// Maps the pages of another process. Returns nothing if they cannot be reached, for example from
/// another node, user or process namespace.
std::optional<SharedMemory> open_pages(const std::string& address, std::size_t bytes);

}  // namespace rollcall::comm
