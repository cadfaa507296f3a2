// Waits for a file that another node has announced, because network file systems may show it late.
#pragma once

#include "base/time/clock.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

namespace rollcall {

/// Linux's NFS client trusts its cached view of a folder for up to acdirmax, 60 s unless mounted
/// otherwise (nfs(5)).
constexpr double kLateName_s = 60.0;

/// Calls `seen()` at once and then at growing intervals of up to 0.1 s, until it returns true.
/// Returns false if `longest_s` passes first.
template <class Seen>
bool wait_until_visible(const Seen& seen, double longest_s = kLateName_s) {
  const Stopwatch watch;
  for (double pause_s = 1e-3; !seen(); pause_s = std::min(2 * pause_s, 0.1)) {
    if (watch.seconds() > longest_s) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
  }
  return true;
}

/// Waits until a file is visible; returns false if it does not appear in time. Throws
/// UnreadableError if the file system reports anything other than whether the name exists.
bool file_seen_in_time(const std::filesystem::path& path, double longest_s = kLateName_s);

}  // namespace rollcall
