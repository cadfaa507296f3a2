// One turn: look at the rank, write its record, read those of the others where this rank has heard
// nothing for long.
#include "watch/watcher.hpp"

#include "base/attended_clock.hpp"
#include "base/log.hpp"
#include "base/thread_stack.hpp"
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

/// Shared with the thread, which may outlive the watcher.
struct Watcher::End {
  std::mutex mutex;
  std::condition_variable changed;
  bool wanted = false, reached = false;
  std::optional<double> asked;     ///< since how many seconds another rank may have stood still
  std::optional<double> answered;  ///< for how long
  double ask(double since_s);
};

/// Of the thread that waits. A file system that does not answer holds it for a moment only: the
/// others
/// may ask it meanwhile whether it is there.
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

/// Of clocks that are looked at once a tick.
double late_s(double tick_s, double watch_s) {
  constexpr double kLate_s = 10.0;  // a look that comes later than this says that the process was
                                    // suspended
  return tick_s + std::clamp(watch_s / 4, 1.0, kLate_s);
}

constexpr double kShortestTurn_s = 0.25, kLongestTurn_s = 10.0, kTurns = 12.0;
constexpr double kEarly = 10.0 / kTurns;  // stacks are taken before the time is up: they are there
                                          // when somebody asks
constexpr double kWrites = 100.0;  // a second, of all ranks together, are more than a file system
                                   // should notice
constexpr std::size_t kFrames = 25, kThreadFrames = 12, kThreads = 8;

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string node_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// The thread's own state.
class Rounds {
 public:
  Rounds(std::filesystem::path run_dir, WatchRecord record,
         std::shared_ptr<const comm::Activity> activity, int main_thread, double watch_s,
         double clock_offset_s)
      : run_dir_(std::move(run_dir)),
        own_(std::move(record)),
        activity_(std::move(activity)),
        main_thread_(main_thread),
        watch_s_(watch_s),
        clock_offset_s_(clock_offset_s),
        clock_(late_s(tick_s(), watch_s)) {}

  /// As short as the file system allows, since nobody hears what a rank did after its last word.
  double turn_s() const {
    return std::min(std::clamp(watch_s_ / kTurns, kShortestTurn_s, kLongestTurn_s),
                    std::max(1.0, double(own_.ranks) / kWrites));
  }

  /// Memory may be looked at more often than files.
  double tick_s() const { return std::min(turn_s(), 1.0); }

  void tick() {
    look();
    const bool moves_again = tell_standstill();
    const bool asks = std::max(own_.still_s, own_.silent_s) >= next_stacks_s_;
    if (asks) take_stacks();
    if (!asks && !moves_again && looked_s_ < next_turn_s_) return;
    next_turn_s_ = looked_s_ + turn_s() - tick_s() / 2;
    write();
    speak();
  }

  double longest_standstill(double since_s) const {
    return watch::longest_standstill(read_watch(run_dir_).value_or(WatchFile{}), own_.rank,
                                     now() - since_s);
  }

  void end() {
    look();
    own_.ended = true, own_.threads.clear();
    write();
    for (const auto& line : teller_.tell({})) log_warning("{}", line);
  }

 private:
  void look() {
    const auto seen = activity_->look();
    const double now = clock_.seconds();  // without the time for which the process was suspended
    looked_s_ = now;
    if (seen.pulses != pulses_)
      progress_s_ = poll_s_ = now, own_.threads.clear(), next_stacks_s_ = kEarly * watch_s_;
    if (seen.polls != polls_) poll_s_ = now;
    pulses_ = seen.pulses, polls_ = seen.polls;
    own_.activity = seen.activity, own_.activity_s = seen.activity_s, own_.waits = seen.waits,
    own_.waits_s = seen.waits_s;
    own_.pulses = seen.pulses, own_.silent_s = now - progress_s_, own_.still_s = now - poll_s_;
    own_.beat_unix_s = this->now();
  }

  double now() const { return unix_time() + clock_offset_s_; }  ///< by the clock of rank 0's node

  /// True at the first look after the process was suspended. The others' deadlines need to know.
  bool tell_standstill() {
    const double lasted_s = clock_.stood_still_s() - own_standstills_s_;
    if (lasted_s <= 0) return false;
    own_standstills_s_ = clock_.stood_still_s();
    own_.stood_still_s = lasted_s, own_.moved_unix_s = own_.beat_unix_s;
    if (own_.rank == 0)
      log_info(
          "rank 0 did not run for {:.0f} s: the job was suspended, or its file system hung; no deadline counts that time",
          lasted_s);
    return true;
  }

  /// Of the main thread unless it polls, and of others that may be what it waits for.
  void take_stacks() {
    own_.threads.clear();
    if (own_.still_s >= kEarly * watch_s_) add(main_thread_, "main", kFrames);
    for (const int thread : busy_threads()) {
      if (thread != main_thread_ && thread != own_thread() && own_.threads.size() < kThreads)
        add(thread, fmt::format("thread {}", thread), kThreadFrames);
    }
    const double past_s = std::max(own_.still_s, own_.silent_s);
    const bool missed = std::any_of(own_.threads.begin(), own_.threads.end(), [](const auto& t) {
      return t.state == "running" && t.frames.empty();
    });
    next_stacks_s_ = missed ? past_s : 2.0 * past_s;  // one that computes answers when it gets a
                                                      // core
  }

  void add(int thread, std::string name, std::size_t most_frames) {
    auto [state, frames] = look_at_thread(thread, most_frames);
    if (state != "gone")
      own_.threads.push_back({std::move(name), std::move(state), std::move(frames)});
  }

  void write() {
    const std::string problem = write_record(run_dir_, own_);
    if (!problem.empty() && !std::exchange(warned_, true))
      log_warning("{} (rollcall status will not know what this rank does; the run continues)",
                  problem);
  }

  /// Rank 0 speaks for all; rank 1 where rank 0 is what is wrong. Nothing is read while this rank
  /// itself gets on.
  void speak() {
    if (own_.rank > 1) return;
    const bool told = own_.silent_s >= watch_s_ && (own_.rank == 0 || rank_0_is_gone());
    for (const auto& line : teller_.tell(
             told ? explain(read_watch(run_dir_).value_or(WatchFile{}), own_.beat_unix_s, watch_s_)
                  : Explanation{}))
      log_warning("{}", line);
  }

  bool rank_0_is_gone() const {
    const auto first = read_watch(run_dir_, 1);
    return first && !first->records.empty() &&
           own_.beat_unix_s - first->records.front().beat_unix_s > watch_s_ / 2;
  }

  std::filesystem::path run_dir_;
  WatchRecord own_;
  std::shared_ptr<const comm::Activity> activity_;
  int main_thread_;
  double watch_s_, clock_offset_s_;
  AttendedClock clock_;
  double own_standstills_s_ = 0.0;
  double looked_s_ = 0.0, progress_s_ = 0.0, poll_s_ = 0.0, next_turn_s_ = 0.0,
         next_stacks_s_ = kEarly * watch_s_;
  std::uint64_t pulses_ = 0, polls_ = 0;
  bool warned_ = false;
  SilenceTeller teller_;
};

/// A thread that touches no file and takes no lock for long: it comes late only where the whole
/// process
/// stood still, the main thread included. The one that writes RUN/watch comes late where its file
/// system hangs, too. Where both ranks and watches are threads of one process, each counts for all.
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

/// What this rank's clock lacks of rank 0's: they read them within moments of each other.
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
  sigset_t all, before;  // what stops or ends the run is for the thread that makes this one
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
