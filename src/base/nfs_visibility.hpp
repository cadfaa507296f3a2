// Network file systems may show one node late what another has made: how long a rank looks for a
// name that it was told of.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

namespace rollcall {

/// Linux's NFS client trusts what it knows of a folder for up to acdirmax, 60 s unless mounted
/// otherwise (nfs(5)).
constexpr double kLateName_s = 60.0;

/// Looks until `seen()`, at once and then ever less often, up to ten times a second. Returns
/// whether it was in time.
template <class Seen>
bool wait_until_visible(const Seen& seen, double longest_s = kLateName_s) {
  const Stopwatch watch;
  for (double pause_s = 1e-3; !seen(); pause_s = std::min(2 * pause_s, 0.1)) {
    if (watch.seconds() > longest_s) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
  }
  return true;
}

/// Throws UnreadableError when the file system answers otherwise than that the name is there or
/// not.
bool file_seen_in_time(const std::filesystem::path& path, double longest_s = kLateName_s);

}  // namespace rollcall
