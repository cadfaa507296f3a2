// What the interposed calls share with their controls: which of them are watched, and what becomes
// of a watched one. Private to this folder.
#pragma once

#include "faults/interpose.hpp"

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <string>

namespace rollcall::faults {

enum class Verdict { go_on, fail, partial };

/// One thread at a time; the same thread may come again.
std::unique_lock<std::recursive_mutex> enter();

/// Relative to the watched folder; empty outside of it ("." for the folder itself).
std::string watched(int folder, const char* path);
std::string watched(int fd);
std::uint64_t number_of(const char* path);  ///< of the file: its inode
std::uint64_t number_of(int fd);
bool forget(int fd);  ///< it is about to be closed; whether it was watched

/// Counts the call and says whether it is to fail, with errno set.
Verdict arrive(Call call);
void note(Operation operation);

// Each does `real` or fails in its place.
int open_watched(int folder, const char* path, int flags, const std::function<int()>& real);
/// offset < 0: here
ssize_t write_watched(int fd, std::size_t size, off_t offset, const void* bytes,
                      const std::function<ssize_t(std::size_t)>& real);
ssize_t read_watched(int fd, std::size_t size, const std::function<ssize_t(std::size_t)>& real);
int sync_watched(int fd, const std::function<int()>& real);
int change(Call call, Operation operation, const std::function<int()>& real);

}  // namespace rollcall::faults
