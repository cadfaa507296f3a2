// Private to comm: pages of a process of its own, and those that processes of a node have in
// common.
#pragma once

#include "core/shared_memory.hpp"

#include <optional>
#include <string>

namespace rollcall::comm {

/// Zeroed pages. They belong to the process alone, or are those of an open file. Throws
/// EnvironmentError.
SharedMemory map_pages(std::size_t bytes, int file = -1);

/// Memory without a name: it is reached through the process that made it and leaves nothing behind,
/// whoever is killed. A window of MPI's own (tried: Open MPI) is a file in /dev/shm, of which a
/// container has 64 MB by default.
class SharedPages {
 public:
  explicit SharedPages(std::size_t bytes);  ///< throws EnvironmentError
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  int file() const { return file_; }
  std::string address() const;  ///< for open_pages() in another process, while this lives

 private:
  int file_ = -1;
};
/// Nothing where they cannot be reached: another node, user or process namespace.
std::optional<SharedMemory> open_pages(const std::string& address, std::size_t bytes);

}  // namespace rollcall::comm
