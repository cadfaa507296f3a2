// The watching thread. In each turn it looks at its rank and writes the record. It reads the
// records of the other ranks if its rank has made no progress for long.
#include "watch/watcher.hpp"

#include "base/errors/log.hpp"
#include "base/process/thread_stack.hpp"
#include "base/time/attended_clock.hpp"
#include "comm/deadline.hpp"
#include "core/serialize.hpp"
#include "watch/explanation.hpp"
#include "watch/watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace rollcall::watch {

/// The data that the watcher shares with its thread, which may outlive it.
struct Watcher::End {
  std::mutex mutex;
  std::condition_variable changed;
  bool wanted = false, reached = false;
  std::optional<double> asked;  ///< question: which ranks were suspended within this many seconds
  std::optional<double> answered;  ///< answer: the longest suspension [s]
  double ask(double since_s);
};

/// Called by the waiting thread. It gets an answer or gives up after kPatience, even if the file
/// system hangs, because other ranks may ask meanwhile whether this rank is alive.
double Watcher::End::ask(double since_s) {
  constexpr std::chrono::seconds kPatience{1};
  std::unique_lock lock(mutex);
  asked = since_s, answered.reset();
  changed.notify_all();
  changed.wait_for(lock, kPatience, [&] { return answered.has_value(); });
  return answered.value_or(0.0);
}

namespace {

std::atomic<double> all_standstills_s = 0.0;

/// For a clock that is read once per tick: more than this time between two reads shows that the
/// process was suspended [s].
double late_s(double tick_s, double watch_s) {
  constexpr double kLate_s = 10.0;  // a read more than this late shows a suspension, however long
                                    // watch_s is
  return tick_s + std::clamp(watch_s / 4, 1.0, kLate_s);
}

constexpr double kShortestTurn_s = 0.25, kLongestTurn_s = 10.0, kTurns = 12.0;
constexpr double kEarly = 10.0 / kTurns;  // stacks are taken before the time is up, so that they
                                          // are there when a user asks
constexpr double kWrites = 100.0;  // most writes per second by all ranks together, few enough for
                                   // any file system
constexpr std::size_t kFrames = 25, kThreadFrames = 12, kThreads = 8;

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string node_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// The activity of this rank as its own watch sees it. Fills in the rank's record.
class OwnRank {
 public:
  OwnRank(WatchRecord record, std::shared_ptr<const comm::Activity> activity, double tick_s,
          double watch_s, double clock_offset_s)
      : record_(std::move(record)),
        activity_(std::move(activity)),
        clock_(late_s(tick_s, watch_s)),
        clock_offset_s_(clock_offset_s) {}

  const WatchRecord& record() const { return record_; }
  WatchRecord& record() { return record_; }
  /// Time at the last look, not counting suspensions of the process [s].
  double looked_s() const { return looked_s_; }
  double now() const { return unix_time() + clock_offset_s_; }  ///< by the clock of rank 0's node

  /// Brings the record up to date. Returns true if the rank has made progress since the last look;
  /// its recorded stacks are dropped then.
  bool look() {
    const auto seen = activity_->look();
    looked_s_ = clock_.seconds();
    const bool progressed = seen.pulses != record_.pulses;
    if (progressed) {
      progress_s_ = poll_s_ = looked_s_;
      record_.threads.clear();
    }
    if (seen.polls != polls_) poll_s_ = looked_s_;
    polls_ = seen.polls;
    record_.activity = seen.activity;
    record_.activity_s = seen.activity_s;
    record_.waits = seen.waits;
    record_.waits_s = seen.waits_s;
    record_.pulses = seen.pulses;
    record_.silent_s = looked_s_ - progress_s_;
    record_.still_s = looked_s_ - poll_s_;
    record_.beat_unix_s = now();
    return progressed;
  }

  /// Returns true at the first look after the process was suspended, and records how long it
  /// lasted: the other ranks' deadlines must allow for it.
  bool note_standstill() {
    const double lasted_s = clock_.stood_still_s() - known_standstills_s_;
    if (lasted_s <= 0) return false;
    known_standstills_s_ = clock_.stood_still_s();
    record_.stood_still_s = lasted_s;
    record_.moved_unix_s = record_.beat_unix_s;
    if (record_.rank == 0)
      log_info(
          "rank 0 did not run for {:.0f} s: the job was suspended, or its file system hung; no "
          "deadline counts that time",
          lasted_s);
    return true;
  }

 private:
  WatchRecord record_;
  std::shared_ptr<const comm::Activity> activity_;
  AttendedClock clock_;
  double clock_offset_s_;
  double looked_s_ = 0.0, progress_s_ = 0.0, poll_s_ = 0.0;  ///< times on clock_: the last look,
                                                             ///< and the last progress and poll
                                                             ///< seen
  double known_standstills_s_ = 0.0;                         ///< suspensions already recorded [s]
  std::uint64_t polls_ = 0;                                  ///< poll count at the last look
};

/// The work of the thread that watches: at every turn it looks at the rank and writes the record,
/// and it takes stacks and warns if nothing moves.
class Rounds {
 public:
  Rounds(std::filesystem::path run_dir, WatchRecord record,
         std::shared_ptr<const comm::Activity> activity, int main_thread, double watch_s,
         double clock_offset_s)
      : run_dir_(std::move(run_dir)),
        turn_s_(turn_s(record.ranks, watch_s)),
        self_(std::move(record), std::move(activity), tick_s(), watch_s, clock_offset_s),
        main_thread_(main_thread),
        watch_s_(watch_s) {}

  /// Time between two looks [s]. Memory may be looked at more often than files.
  double tick_s() const { return std::min(turn_s_, 1.0); }

  void tick() {
    if (self_.look()) next_stacks_s_ = kEarly * watch_s_;
    const bool moves_again = self_.note_standstill();
    const bool takes = std::max(own().still_s, own().silent_s) >= next_stacks_s_;
    if (takes) take_stacks();
    if (!takes && !moves_again && self_.looked_s() < next_turn_s_) return;
    next_turn_s_ = self_.looked_s() + turn_s_ - tick_s() / 2;
    write();
    speak();
  }

  /// The longest suspension of another rank within the last `since_s` seconds [s].
  double longest_standstill(double since_s) const {
    return watch::longest_standstill(read_watch(run_dir_).value_or(WatchFile{}), own().rank,
                                     self_.now() - since_s);
  }

  void end() {
    self_.look();
    self_.record().ended = true;
    self_.record().threads.clear();
    write();
    for (const auto& line : teller_.tell({})) log_warning("{}", line);
  }

 private:
  /// Time between two records [s]: as short as the file system allows, because a rank's activity
  /// after its last record stays unknown.
  static double turn_s(int ranks, double watch_s) {
    return std::min(std::clamp(watch_s / kTurns, kShortestTurn_s, kLongestTurn_s),
                    std::max(1.0, double(ranks) / kWrites));
  }

  const WatchRecord& own() const { return self_.record(); }

  /// Takes the stack of the main thread unless it polls, and of busy threads that the main thread
  /// may be waiting for.
  void take_stacks() {
    auto& threads = self_.record().threads;
    threads.clear();
    if (own().still_s >= kEarly * watch_s_) add(main_thread_, "main", kFrames);
    for (const int thread : busy_threads()) {
      if (thread != main_thread_ && thread != own_thread() && threads.size() < kThreads)
        add(thread, fmt::format("thread {}", thread), kThreadFrames);
    }
    const double past_s = std::max(own().still_s, own().silent_s);
    const bool missed = std::any_of(threads.begin(), threads.end(), [](const auto& t) {
      return t.state == "running" && t.frames.empty();
    });
    // A thread that computes gives its stack only when it gets a core. If one gave none, the next
    // turn tries again.
    next_stacks_s_ = missed ? past_s : 2.0 * past_s;
  }

  void add(int thread, std::string name, std::size_t most_frames) {
    auto [state, frames] = look_at_thread(thread, most_frames);
    if (state != "gone")
      self_.record().threads.push_back({std::move(name), std::move(state), std::move(frames)});
  }

  void write() {
    const std::string problem = write_record(run_dir_, own());
    if (!problem.empty() && !std::exchange(warned_, true))
      log_warning("{} (rollcall status will not know what this rank does; the run continues)",
                  problem);
  }

  /// Prints what explain() says. Rank 0 does so for all ranks, and rank 1 takes its place if rank 0
  /// has stopped. The other ranks' records are not read while this rank makes progress.
  void speak() {
    if (own().rank > 1) return;
    const bool silent = own().silent_s >= watch_s_ && (own().rank == 0 || rank_0_is_gone());
    for (const auto& line :
         teller_.tell(silent ? explain(read_watch(run_dir_).value_or(WatchFile{}),
                                       own().beat_unix_s, watch_s_)
                             : Explanation{}))
      log_warning("{}", line);
  }

  bool rank_0_is_gone() const {
    const auto first = read_watch(run_dir_, 1);
    return first && !first->records.empty() &&
           own().beat_unix_s - first->records.front().beat_unix_s > watch_s_ / 2;
  }

  std::filesystem::path run_dir_;
  double turn_s_;
  OwnRank self_;
  int main_thread_;
  double watch_s_;
  double next_turn_s_ = 0.0;                  ///< OwnRank::looked_s() at which a record is due
  double next_stacks_s_ = kEarly * watch_s_;  ///< stacks are taken after this time without progress
                                              ///< or without a poll
  bool warned_ = false;
  SilenceTeller teller_;
};

/// Counts suspensions in a thread that touches no file and holds no lock for long, so it is late
/// only if the whole process was suspended. The thread that writes RUN/watch is also late when its
/// file system hangs. If ranks are threads of one process, each suspension counts once per rank.
template <class End>
void count_standstills(const std::shared_ptr<End>& end, double tick_s, double watch_s) {
  std::thread([end, tick_s, clock = AttendedClock(late_s(tick_s, watch_s))]() mutable {
    double known_s = 0.0;
    std::unique_lock lock(end->mutex);
    while (!end->wanted) {
      end->changed.wait_for(lock, std::chrono::duration<double>(tick_s),
                            [&] { return end->wanted; });
      (void)clock.seconds();
      const double lasted_s = clock.stood_still_s() - known_s;
      known_s += lasted_s;
      all_standstills_s += lasted_s;
    }
  }).detach();
}

/// The time by which this rank's clock is behind rank 0's [s]. Both read their clocks within
/// moments of each other.
double offset_to_rank_0(comm::Communicator& world) {
  world.barrier();
  const double now = unix_time();
  return from_bytes<double>(world.gather_all(to_bytes(now))[0]) - now;
}

}  // namespace

double stood_still_s() { return all_standstills_s; }

Watcher::Watcher(comm::Communicator& world, std::filesystem::path run_dir, std::string stages,
                 double watch_s)
    : end_(std::make_shared<End>()) {
  prepare_to_look();
  WatchRecord record{.rank = world.rank(),
                     .ranks = world.size(),
                     .node = node_name(),
                     .pid = ::getpid(),
                     .stages = std::move(stages)};
  Rounds rounds(std::move(run_dir), std::move(record), world.roll()->activity, own_thread(),
                watch_s, offset_to_rank_0(world));
  sigset_t all, before;  // signals that stop or end the run are left to the thread that creates
                         // this one
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  count_standstills(end_, rounds.tick_s(), watch_s);
  std::thread([end = end_, rounds = std::move(rounds)]() mutable {
    const auto tick = std::chrono::duration<double>(rounds.tick_s());
    std::unique_lock lock(end->mutex);
    while (!end->wanted) {
      lock.unlock();
      try {
        rounds.tick();
      } catch (const std::exception& error) {
        log_debug("the watch missed a turn: {}", error.what());
      }
      lock.lock();
      end->changed.wait_for(lock, tick, [&] { return end->wanted || end->asked; });
      if (!end->asked) continue;
      const double since_s = *std::exchange(end->asked, std::nullopt);
      lock.unlock();
      const double longest_s = rounds.longest_standstill(since_s);
      lock.lock();
      end->answered = longest_s;
      end->changed.notify_all();
    }
    lock.unlock();
    try {
      rounds.end();
    } catch (const std::exception& error) {
      log_debug("the watch cannot say that it ends: {}", error.what());
    }
    lock.lock();
    end->reached = true;
    end->changed.notify_all();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  comm::ask_about_standstills([end = end_](double since_s) { return end->ask(since_s); });
}

Watcher::~Watcher() {
  comm::ask_about_standstills({});
  constexpr std::chrono::seconds kMoment{2};
  std::unique_lock lock(end_->mutex);
  end_->wanted = true;
  end_->changed.notify_all();
  end_->changed.wait_for(lock, kMoment, [&] { return end_->reached; });
}

}  // namespace rollcall::watch
