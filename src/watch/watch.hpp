// RUN/watch: what every rank of a run does at the moment, for whoever wonders why it gets no
// further.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::watch {

struct ThreadRecord {
  std::string thread;  ///< "main", "thread 4711"
  std::string state;   ///< base/thread_stack.hpp
  std::vector<std::string> frames;
  bool operator==(const ThreadRecord&) const = default;
};

/// What a rank says of itself. Durations are those at the time of `beat_unix_s`.
struct WatchRecord {
  int rank = 0, ranks = 1;
  std::string node{};
  std::int64_t pid = 0;
  std::string stages{};    ///< "generation, scoring"
  std::string activity{};  ///< "update of step 5"; empty between two tasks
  std::string waits{};     ///< "for the plan of step 3"; empty: it works
  double activity_s = 0.0, waits_s = 0.0;
  double silent_s = 0.0;  ///< since the last piece of work that it did or heard of
  double still_s = 0.0;   ///< since it last did or looked for anything, so less where it waits
  std::uint64_t pulses = 0;
  double beat_unix_s = 0.0;             ///< when this was written, by the clock of rank 0's node
  double stood_still_s = 0.0;           ///< when the process was last suspended, for how long
  double moved_unix_s = 0.0;            ///< until when, by the same clock; 0: never
  bool ended = false;                   ///< in order
  std::vector<ThreadRecord> threads{};  ///< of a rank that is silent: those that could be the cause
};

/// Slots of equal size, by rank: one file serves many ranks, and each writes pages of its own.
constexpr std::size_t kWatchSlot = 4096;

std::filesystem::path watch_file(const std::filesystem::path& run_dir);
/// JSON, spaces and a line break, kWatchSlot bytes in all; of stacks that are too long for it the
/// outer frames are left out.
std::string to_slot(WatchRecord record);
/// Nothing when it is not what to_slot makes, or of another rank.
std::optional<WatchRecord> from_slot(std::string_view slot, int rank);

/// Puts the record into its slot. Returns what is wrong, empty where nothing is: this may never
/// fail a run. Opened and closed each time, for only then does a network file system show it to
/// others; not fsynced.
std::string write_record(const std::filesystem::path& run_dir, const WatchRecord& record);

struct WatchFile {
  std::vector<WatchRecord> records{};  ///< by rank; one that has written nothing yet is not there
  int ranks = 0;                       ///< of the job
  int unreadable = 0;                  ///< slots that hold something else
};
/// How long another rank than `own` was suspended that moves again since `since_unix_s`: the
/// longest.
double longest_standstill(const WatchFile& file, int own, double since_unix_s);
/// Nothing where there is no such file. Only the first `most` ranks; 0: all.
std::optional<WatchFile> read_watch(const std::filesystem::path& run_dir, int most = 0);

}  // namespace rollcall::watch
