// RUN/watch: the current activity of every rank of a run, for users who want to know why it makes
// no progress.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::watch {

struct ThreadRecord {
  std::string thread;  ///< such as "main" or "thread 4711"
  std::string state;   ///< as in base/process/thread_stack.hpp
  std::vector<std::string> frames;
  bool operator==(const ThreadRecord&) const = default;
};

/// A rank's statement about itself. Durations are as of `beat_unix_s`.
struct WatchRecord {
  int rank = 0, ranks = 1;
  std::string node{};
  std::int64_t pid = 0;
  std::string stages{};    ///< such as "generation, scoring"
  std::string activity{};  ///< such as "update of step 5"; empty between two tasks
  std::string waits{};     ///< such as "for the plan of step 3"; empty while it is working
  double activity_s = 0.0, waits_s = 0.0;
  double silent_s = 0.0;  ///< time since the rank's last progress
  double still_s = 0.0;   ///< time since the rank last made progress or polled, so it stays short
                          ///< while the rank waits
  std::uint64_t pulses = 0;
  double beat_unix_s = 0.0;    ///< when the record was written, by the clock of rank 0's node
  double stood_still_s = 0.0;  ///< duration of the last suspension of the process
  double moved_unix_s = 0.0;   ///< end of that suspension, by the same clock; 0 if there was none
  bool ended = false;          ///< the rank has ended normally
  std::vector<ThreadRecord> threads{};  ///< threads that could be the cause if the rank makes no
                                        ///< progress; otherwise empty
};

/// Bytes of a record in RUN/watch. The file has one slot per rank, so each rank writes its own
/// pages.
constexpr std::size_t kWatchSlot = 4096;

std::filesystem::path watch_file(const std::filesystem::path& run_dir);
/// JSON, spaces and a line break, kWatchSlot bytes in total. Outer frames of stacks are left out if
/// there is no room for them.
std::string to_slot(WatchRecord record);
/// Returns nothing if the text was not made by to_slot, or belongs to another rank.
std::optional<WatchRecord> from_slot(std::string_view slot, int rank);

/// Writes the record into its slot. Returns a description of any problem, or an empty string,
/// because this must never make a run fail. The file is opened and closed each time, because only
/// then does a network file system show the record to others. It is not fsynced.
std::string write_record(const std::filesystem::path& run_dir, const WatchRecord& record);

struct WatchFile {
  std::vector<WatchRecord> records{};  ///< by rank; ranks that have not written yet are missing
  int ranks = 0;                       ///< number of ranks of the job
  int unreadable = 0;                  ///< number of slots that hold neither a record nor zeros
};
/// The longest suspension, among ranks other than `own`, that ended after `since_unix_s` [s].
double longest_standstill(const WatchFile& file, int own, double since_unix_s);
/// Reads the slots of the first `most` ranks, or of all ranks if that is 0. Returns nothing if
/// there is no such file.
std::optional<WatchFile> read_watch(const std::filesystem::path& run_dir, int most = 0);

}  // namespace rollcall::watch
