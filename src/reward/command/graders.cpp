// The thread that polls the pipes of all processes and carries out what dispatch decides.
#include "reward/command/graders.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/time/attended_clock.hpp"
#include "reward/command/batch_queue.hpp"
#include "reward/command/child_pipes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace rollcall::reward {
namespace {

constexpr double kSuspended_s = 1.0;  // a wait that takes longer means that the job was suspended
constexpr int kMostWarnings = 5;      // of one kind in the log; further ones are only counted
constexpr int kGrace_ms = 500;  // time for a process to end after its output did: the kernel closes
                                // its files first
constexpr int kMostRepeats = 1000;  // second replies of one process, after which it is ended

constexpr std::size_t kRemembered = 64;  // ids of answered samples that are remembered

/// A process and the sample that it judges.
struct Judging {
  ChildPipes pipes;
  std::string asked{};  ///< id of the sample that waits for its verdict; empty if no sample does
  std::deque<std::string> answered{};  ///< ids of the last few samples that have a verdict
  int repeats = 0;       ///< number of replies to samples that the process had answered already
  std::string errors{};  ///< the end of what it wrote to standard error

  void has_answered() {
    answered.push_back(std::exchange(asked, {}));
    if (answered.size() > kRemembered) answered.pop_front();
  }
};

/// Appends bytes and keeps only the end, at most kLongestReason bytes.
void add_to_end(std::string& end, std::string_view bytes) {
  end.append(bytes);
  if (end.size() > kLongestReason) end.erase(0, end.size() - kLongestReason);
}

/// The last line that is not empty: in a traceback it says what happened.
std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const auto before = text.rfind('\n');
  return visible(brief(before == std::string_view::npos ? text : text.substr(before + 1)));
}

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const auto& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

class Graders::Work {
 public:
  Work(Spawner& spawner, const RewardSection& section, GraderListener listener)
      : spawner_(spawner),
        section_(section),
        listener_(std::move(listener)),
        dispatch_(make_dispatch(std::size_t(section.processes), section.timeout_s,
                                section.components.size())),
        judging_(std::size_t(section.processes)),
        thread_([this] { run(); }) {}
  ~Work() {
    queue_.close();
    thread_.join();
  }
  BatchQueue& queue() { return queue_; }

 private:
  /// A batch that has been taken from the queue and lacks a verdict for at least one sample.
  struct Open {
    std::uint64_t number = 0;  ///< the batch's number in the queue
    std::vector<Sample> samples;
    std::vector<Verdict> verdicts;
    Ticket first = 0;         ///< ticket of its first sample
    std::size_t missing = 0;  ///< number of samples without a verdict
  };

  void run();
  bool admit();  ///< takes new batches from the queue; returns false if it is time to end
  void wait();
  void read_output(std::size_t process);
  /// Returns false if the process was ended because of the line.
  bool handle_line(std::size_t process, const std::string& line);
  void fail(std::size_t process, Cause cause, const std::string& how);
  void handle(decltype(Event::what) what);
  void settle(const action::Settle& settled);
  Open& open_of(Ticket ticket) { return std::prev(open_.upper_bound(ticket))->second; }
  const Sample& sample_of(Ticket ticket) {
    const Open& batch = open_of(ticket);
    return batch.samples[std::size_t(ticket - batch.first)];
  }
  template <class... Words>
  void warn(const char* kind, fmt::format_string<Words...> text, Words&&... words) {
    const int times = ++warnings_[kind];
    if (times <= kMostWarnings)
      log_warning("{}{}", fmt::format(text, std::forward<Words>(words)...),
                  times == kMostWarnings ? " (more of this kind are only counted)" : "");
  }

  Spawner& spawner_;
  RewardSection section_;
  GraderListener listener_;
  AttendedClock clock_{kSuspended_s};
  Dispatch dispatch_;
  std::vector<std::optional<Judging>> judging_;  ///< [processes]
  std::map<Ticket, Open> open_;                  ///< by Open::first
  std::map<std::string, int> warnings_;          ///< number of warnings by kind
  BatchQueue queue_;
  std::thread thread_;
};

void Graders::Work::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // stop signals are for the main thread, and
                                                  // SIGPIPE for nobody
  try {
    while (admit()) {
      wait();
      for (std::size_t process = 0; process < judging_.size(); ++process) {
        if (judging_[process] && judging_[process]->pipes.has_to_write())
          judging_[process]->pipes.write();
        if (judging_[process]) read_output(process);
      }
      handle(event::Passed{});
    }
    for (auto& judging : judging_)
      if (judging) spawner_.end(judging->pipes.child().pid);
  } catch (...) {
    queue_.fail(std::current_exception());
  }
}

bool Graders::Work::admit() {
  auto added = queue_.collect();
  if (!added) return false;
  for (auto& [number, samples] : *added) {
    const std::size_t count = samples.size();
    open_[dispatch_.next] = {number, std::move(samples), std::vector<Verdict>(count),
                             dispatch_.next, count};
    handle(event::Added{count});
  }
  return true;
}

void Graders::Work::wait() {
  std::vector<const ChildPipes*> processes;
  for (const auto& judging : judging_) processes.push_back(judging ? &judging->pipes : nullptr);
  wait_for(queue_.wake_fd(), processes, next_deadline_s(dispatch_) - clock_.seconds());
  queue_.clear_wake();
}

void Graders::Work::read_output(std::size_t process) {
  ChildPipes& pipes = judging_[process]->pipes;
  const auto keep_errors = [&](std::string_view bytes) {
    add_to_end(judging_[process]->errors, bytes);
    listener_.errors(process, bytes);
  };
  pipes.read_errors(keep_errors);
  const bool open = pipes.read();
  while (const auto line = pipes.lines().next())
    if (!handle_line(process, *line)) return;
  if (pipes.lines().too_long())
    return fail(process, Cause::malformed,
                fmt::format("its reply is longer than {} bytes", kLongestReply));
  if (open) return;
  pipes.read_errors(keep_errors);
  const bool busy = dispatch_.processes[process].phase == Dispatch::Phase::busy;
  const std::string ended = spawner_.end(pipes.child().pid, kGrace_ms);
  const std::string said = last_line(judging_[process]->errors);
  const std::string how =
      (ended.empty() ? "the command closed its output" : "the command " + ended) +
      (said.empty() ? "" : ": " + said);
  if (busy)
    warn("died", "reward.command: {} (at {}); another process takes its place", how,
         judging_[process]->asked);
  judging_[process].reset();
  handle(event::Failed{process, Cause::died, how});
}

bool Graders::Work::handle_line(std::size_t process, const std::string& line) {
  Judging& judging = *judging_[process];
  Answered answered = parse_reply(line, section_.components);
  const bool busy = dispatch_.processes[process].phase == Dispatch::Phase::busy;
  if (busy && answered.id == judging.asked) {
    if (!answered.fault.empty()) return fail(process, Cause::malformed, answered.fault), false;
    judging.has_answered();
    handle(event::Replied{process, std::move(answered.reply)});
    return true;
  }
  if (answered.id.empty()) return fail(process, Cause::malformed, answered.fault), false;
  if (std::find(judging.answered.begin(), judging.answered.end(), answered.id) ==
      judging.answered.end())
    return fail(process, Cause::malformed,
                fmt::format("it replied to \"{}\", which it was not asked about", answered.id)),
           false;
  warn("repeated", "reward.command: it replied to {} a second time; the first reply stands",
       answered.id);
  if (++judging.repeats <= kMostRepeats) return true;
  return fail(process, Cause::malformed, "it repeats its replies without end"), false;
}

void Graders::Work::fail(std::size_t process, Cause cause, const std::string& how) {
  const std::string& asked = judging_[process]->asked;
  warn("malformed", "reward.command: {}{}; the process is ended and another takes its place", how,
       asked.empty() ? "" : fmt::format(" ({})", asked));
  handle(event::Failed{process, cause, how});
}

void Graders::Work::handle(decltype(Event::what) what) {
  for (const Action& decided : advance(dispatch_, {clock_.seconds(), std::move(what)})) {
    if (const auto* start = std::get_if<action::Start>(&decided)) {
      judging_[start->process].emplace(ChildPipes(spawner_.start(section_.command)));
    } else if (const auto* send = std::get_if<action::Send>(&decided)) {
      const Sample& sample = sample_of(send->ticket);
      judging_[send->process]->asked = sample.id;
      judging_[send->process]->pipes.send(to_line(sample));
    } else if (const auto* end = std::get_if<action::End>(&decided)) {
      if (judging_[end->process]) spawner_.end(judging_[end->process]->pipes.child().pid);
      judging_[end->process].reset();
    } else {
      settle(std::get<action::Settle>(decided));
    }
  }
}

void Graders::Work::settle(const action::Settle& settled) {
  Open& batch = open_of(settled.ticket);
  if (settled.verdict.cause == Cause::clock)
    warn("clock", "reward.command: {} on {}: its processes are ended, and the verdict is undecided",
         settled.verdict.reply.reason, sample_of(settled.ticket).id);
  batch.verdicts[std::size_t(settled.ticket - batch.first)] = settled.verdict;
  listener_.judged();
  if (--batch.missing > 0) return;
  const Ticket first = batch.first;
  queue_.finish(batch.number, std::move(batch.verdicts));
  open_.erase(first);
}

Graders::Graders(Spawner& spawner, const RewardSection& section, GraderListener listener)
    : work_(std::make_unique<Work>(spawner, section, std::move(listener))) {}
Graders::~Graders() = default;
std::uint64_t Graders::add(std::vector<Sample> samples) {
  return work_->queue().add(std::move(samples));
}
std::optional<Graders::Batch> Graders::take() { return work_->queue().take(); }
Graders::Batch Graders::await() { return work_->queue().await(); }

Verdict try_command(Spawner& spawner, const RewardSection& section, const Sample& sample) {
  std::string errors;
  std::mutex mutex;
  RewardSection alone = section;
  alone.processes = 1;
  Graders graders(spawner, alone, {.errors = [&](std::size_t, std::string_view bytes) {
                    const std::lock_guard lock(mutex);
                    add_to_end(errors, bytes);
                  }});
  graders.add({sample});
  Verdict verdict = graders.await().second.front();
  const std::lock_guard lock(mutex);
  if (const auto line = errors.find('\n');
      errors.size() == kLongestReason && line + 1 < kLongestReason)
    errors.erase(0, line + 1);  // npos + 1 is 0: the only line stays
  require<ConfigError>(
      verdict.cause == Cause::replied && !verdict.reply.failed,
      fmt::format("reward.command ({}) gives no verdict: {}", command_text(section.command),
                  verdict.reply.reason),
      "it was asked to judge the reference answer of a prompt before anything is trained",
      errors.empty()
          ? "it must write one JSON object a line, with id, score and correct, and flush it (docs/guide/own-reward.md)"
          : fmt::format("it wrote to standard error: {}", errors));
  return verdict;
}

}  // namespace rollcall::reward
