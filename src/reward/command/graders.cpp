// One thread polls the pipes of all processes; whoever adds and takes meets it at a lock.
#include "reward/command/graders.hpp"

#include "base/attended_clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/uninterrupted.hpp"
#include "reward/command/conversation.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <cmath>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace rollcall::reward {
namespace {

constexpr double kLook_s = 0.25, kSuspended_s = 1.0;  // a look that comes later says that the job
                                                      // was suspended
constexpr int kTold = 5;            // log lines of one kind; the rest are only counted
constexpr int kPatience_ms = 500;   // between the end of a process's output and its own: the kernel
                                    // closes files first
constexpr int kMostRepeats = 1000;  // replies nobody asked for until a process is taken for one
                                    // that floods

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
        talks_(std::size_t(section.processes)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { run(); }) {}
  ~Work() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake();
    thread_.join();
  }

  std::uint64_t add(std::vector<Sample> samples) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = batches_++;
    if (samples.empty()) finished_[number] = {}, done_.notify_all();
    else inbox_.emplace_back(number, std::move(samples));
    wake();
    return number;
  }
  std::optional<Batch> take() {
    const std::lock_guard lock(mutex_);
    return take_finished();
  }
  Batch await() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return !finished_.empty() || failure_; });
    return *take_finished();
  }

 private:
  /// A batch between its first sample and its last verdict.
  struct Open {
    std::vector<Sample> samples;
    std::vector<Verdict> verdicts;
    Ticket first = 0;
    std::size_t missing = 0;
  };

  std::optional<Batch> take_finished() {
    if (failure_) std::rethrow_exception(failure_);
    if (finished_.empty()) return std::nullopt;
    auto node = finished_.extract(finished_.begin());
    return Batch(node.key(), std::move(node.mapped()));
  }
  void wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_.fd(), &one, sizeof one);
  }

  void run();
  bool admit();  ///< what was added; false: it is time to end
  void wait();
  void hear(std::size_t p);
  bool hear_line(std::size_t p, const std::string& line);  ///< false: that process is gone
  void fail(std::size_t p, Cause cause, const std::string& how);
  void happens(decltype(Event::what) what);
  void settle(const action::Settle& settled);
  Open& open_of(Ticket ticket) { return std::prev(open_.upper_bound(ticket))->second; }
  const Sample& sample_of(Ticket ticket) {
    const Open& batch = open_of(ticket);
    return batch.samples[std::size_t(ticket - batch.first)];
  }
  template <class... Words>
  void tell(const char* kind, fmt::format_string<Words...> text, Words&&... words) {
    const int times = ++told_[kind];
    if (times <= kTold)
      log_warning("{}{}", fmt::format(text, std::forward<Words>(words)...),
                  times == kTold ? " (more of this kind are only counted)" : "");
  }

  Spawner& spawner_;
  RewardSection section_;
  GraderListener listener_;
  AttendedClock clock_{kSuspended_s};
  Dispatch dispatch_;
  std::vector<std::optional<Conversation>> talks_;  ///< [processes]
  std::map<Ticket, Open> open_;                     ///< by its first ticket
  std::map<Ticket, std::uint64_t> numbers_;         ///< of these batches
  std::map<std::string, int> told_;
  Pipe wake_;

  std::mutex mutex_;  // what follows
  std::condition_variable done_;
  std::vector<std::pair<std::uint64_t, std::vector<Sample>>> inbox_;
  std::map<std::uint64_t, std::vector<Verdict>> finished_;
  std::uint64_t batches_ = 0;
  std::exception_ptr failure_;
  bool closing_ = false;
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
      for (std::size_t p = 0; p < talks_.size(); ++p) {
        if (talks_[p] && talks_[p]->has_to_write()) talks_[p]->write();
        if (talks_[p]) hear(p);
      }
      happens(event::Passed{});
    }
    for (auto& talk : talks_)
      if (talk) spawner_.end(talk->child().pid);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    done_.notify_all();
  }
}

bool Graders::Work::admit() {
  decltype(inbox_) added;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return false;
    added.swap(inbox_);
  }
  for (auto& [number, samples] : added) {
    const std::size_t count = samples.size();
    numbers_[dispatch_.next] = number;
    open_[dispatch_.next] = {std::move(samples), std::vector<Verdict>(count), dispatch_.next,
                             count};
    happens(event::Added{count});
  }
  return true;
}

void Graders::Work::wait() {
  std::vector<pollfd> waits{{wake_.fd(), POLLIN, 0}};
  for (const auto& talk : talks_) {
    if (!talk) continue;
    waits.push_back({talk->child().out.fd(), POLLIN, 0});
    if (talk->child().err.fd() >= 0) waits.push_back({talk->child().err.fd(), POLLIN, 0});
    if (talk->has_to_write()) waits.push_back({talk->child().in.fd(), POLLOUT, 0});
  }
  const double left_s = next_deadline_s(dispatch_) - clock_.seconds();
  const int left_ms =
      std::isinf(left_s) ? -1 : int(std::ceil(std::clamp(left_s, 0.0, kLook_s) * 1000));
  uninterrupted([&] { return ::poll(waits.data(), waits.size(), left_ms); });
  std::uint64_t times = 0;
  (void)!::read(wake_.fd(), &times, sizeof times);
}

void Graders::Work::hear(std::size_t p) {
  talks_[p]->read_errors([&](std::string_view bytes) { listener_.errors(p, bytes); });
  const bool open = talks_[p]->read();
  while (const auto line = talks_[p]->lines().next())
    if (!hear_line(p, *line)) return;
  if (talks_[p]->lines().too_long())
    return fail(p, Cause::malformed,
                fmt::format("its reply is longer than {} bytes", kLongestReply));
  if (open) return;
  talks_[p]->read_errors([&](std::string_view bytes) { listener_.errors(p, bytes); });
  const bool busy = dispatch_.processes[p].phase == Dispatch::Phase::busy;
  const std::string ended = spawner_.end(talks_[p]->child().pid, kPatience_ms);
  const std::string how = ended.empty() ? "the command closed its output" : "the command " + ended;
  if (busy)
    tell("died", "reward.command: {} (at {}); another process takes its place", how,
         talks_[p]->asked());
  talks_[p].reset();
  happens(event::Failed{p, Cause::died, how});
}

bool Graders::Work::hear_line(std::size_t p, const std::string& line) {
  Conversation& talk = *talks_[p];
  Answered answered = parse_reply(line, section_.components);
  const bool busy = dispatch_.processes[p].phase == Dispatch::Phase::busy;
  if (busy && answered.id == talk.asked()) {
    if (!answered.fault.empty()) return fail(p, Cause::malformed, answered.fault), false;
    talk.answered();
    happens(event::Replied{p, std::move(answered.reply)});
    return true;
  }
  if (answered.id.empty()) return fail(p, Cause::malformed, answered.fault), false;
  if (!talk.has_answered(answered.id))
    return fail(p, Cause::malformed,
                fmt::format("it replied to \"{}\", which it was not asked about", answered.id)),
           false;
  tell("repeated", "reward.command: it replied to {} a second time; the first reply stands",
       answered.id);
  if (++talk.repeats <= kMostRepeats) return true;
  return fail(p, Cause::malformed, "it repeats its replies without end"), false;
}

void Graders::Work::fail(std::size_t p, Cause cause, const std::string& how) {
  const std::string& asked = talks_[p]->asked();
  tell("malformed", "reward.command: {}{}; the process is ended and another takes its place", how,
       asked.empty() ? "" : fmt::format(" ({})", asked));
  happens(event::Failed{p, cause, how});
}

void Graders::Work::happens(decltype(Event::what) what) {
  for (const Action& decided : advance(dispatch_, {clock_.seconds(), std::move(what)})) {
    if (const auto* start = std::get_if<action::Start>(&decided)) {
      talks_[start->process].emplace(spawner_.start(section_.command));
    } else if (const auto* send = std::get_if<action::Send>(&decided)) {
      talks_[send->process]->send(sample_of(send->ticket));
    } else if (const auto* end = std::get_if<action::End>(&decided)) {
      if (talks_[end->process]) spawner_.end(talks_[end->process]->child().pid);
      talks_[end->process].reset();
    } else {
      settle(std::get<action::Settle>(decided));
    }
  }
}

void Graders::Work::settle(const action::Settle& settled) {
  Open& batch = open_of(settled.ticket);
  if (settled.verdict.cause == Cause::clock)
    tell("clock", "reward.command: {} on {}: its processes are ended, and the verdict is undecided",
         settled.verdict.reply.reason, sample_of(settled.ticket).id);
  batch.verdicts[std::size_t(settled.ticket - batch.first)] = settled.verdict;
  listener_.judged();
  if (--batch.missing > 0) return;
  const Ticket first = batch.first;
  const std::lock_guard lock(mutex_);
  finished_[numbers_.at(first)] = std::move(batch.verdicts);
  numbers_.erase(first), open_.erase(first);
  done_.notify_all();
}

Graders::Graders(Spawner& spawner, const RewardSection& section, GraderListener listener)
    : work_(std::make_unique<Work>(spawner, section, std::move(listener))) {}
Graders::~Graders() = default;
std::uint64_t Graders::add(std::vector<Sample> samples) { return work_->add(std::move(samples)); }
std::optional<Graders::Batch> Graders::take() { return work_->take(); }
Graders::Batch Graders::await() { return work_->await(); }

Verdict try_command(Spawner& spawner, const RewardSection& section, const Sample& sample) {
  std::string errors;
  std::mutex mutex;
  RewardSection alone = section;
  alone.processes = 1;
  Graders graders(spawner, alone, {.errors = [&](std::size_t, std::string_view bytes) {
                    const std::lock_guard lock(mutex);
                    if (errors.size() < kLongestReason)
                      errors.append(bytes.substr(0, kLongestReason - errors.size()));
                  }});
  graders.add({sample});
  Verdict verdict = graders.await().second.front();
  const std::lock_guard lock(mutex);
  require<ConfigError>(
      verdict.cause == Cause::replied,
      fmt::format("reward.command ({}) gives no verdict: {}", command_text(section.command),
                  verdict.reply.reason),
      "it was asked to judge the reference answer of a prompt before anything is trained",
      errors.empty()
          ? "it must write one JSON object a line, with id, score and correct, and flush it (docs/guide/own-reward.md)"
          : fmt::format("it wrote to standard error: {}", errors));
  return verdict;
}

}  // namespace rollcall::reward
