// Batches of samples as requests of a process loop, and what the replies say of them.
#include "reward/command/graders.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "reward/command/batch_queue.hpp"
#include "reward/command/process_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace rollcall::reward {
namespace {

constexpr int kPieces = 4;          // read from a process at a time
constexpr int kMostWarnings = 5;    // of one kind in the log; further ones are only counted
constexpr int kMostRepeats = 1000;  // second replies of one process, after which it is ended

constexpr std::size_t kRemembered = 64;  // ids of answered samples that are remembered

/// The sample that a process judges, and what it has said so far.
struct Judging {
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

class Graders::Work final : public ProcessLoop::Client {
 public:
  Work(Spawner& spawner, const RewardSection& section, GraderListener listener)
      : section_(section),
        listener_(std::move(listener)),
        judging_(std::size_t(section.processes)),
        loop_(*this, spawner, {section.command, queue_.wake_fd(), kPieces, "reply"},
              make_dispatch(std::size_t(section.processes), section.timeout_s,
                            section.components.size())),
        thread_([this] { loop_.run(); }) {}
  ~Work() override {
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

  bool admit() override;
  void started(std::size_t process) override { judging_[process] = {}; }
  void send(std::size_t process, Ticket ticket) override;
  bool handle_line(std::size_t process, const std::string& line) override;
  void heard_errors(std::size_t process, std::string_view bytes) override;
  std::string died(std::size_t process, std::string how) override;
  void is_unusable(std::size_t process, const std::string& how) override;
  void ended(std::size_t process) override { judging_[process] = {}; }
  void settle(const action::Settle& settled) override;
  void fail(std::exception_ptr failure) override { queue_.fail(std::move(failure)); }

  bool is_busy(std::size_t process) const {
    return loop_.dispatch().processes[process].phase == Dispatch::Phase::busy;
  }
  Open& open_of(Ticket ticket) { return std::prev(open_.upper_bound(ticket))->second; }
  const Sample& sample_of(Ticket ticket) {
    const Open& batch = open_of(ticket);
    return batch.samples[std::size_t(ticket - batch.first)];
  }
  template <class... Words>
  void warn(const char* kind, fmt::format_string<Words...> text, Words&&... words) {
    const int times = ++warnings_[kind];
    if (listener_.warns && times <= kMostWarnings)
      log_warning("{}{}", fmt::format(text, std::forward<Words>(words)...),
                  times == kMostWarnings ? " (more of this kind are only counted)" : "");
  }

  RewardSection section_;
  GraderListener listener_;
  std::vector<Judging> judging_;         ///< [processes]
  std::map<Ticket, Open> open_;          ///< by Open::first
  std::map<std::string, int> warnings_;  ///< number of warnings by kind
  BatchQueue queue_;
  ProcessLoop loop_;
  std::thread thread_;
};

bool Graders::Work::admit() {
  auto added = queue_.collect();
  if (!added) return false;
  for (auto& [number, samples] : *added) {
    const std::size_t count = samples.size();
    const Ticket first = loop_.dispatch().next;
    open_[first] = {number, std::move(samples), std::vector<Verdict>(count), first, count};
    loop_.handle(event::Added{count});
  }
  return true;
}

void Graders::Work::send(std::size_t process, Ticket ticket) {
  const Sample& sample = sample_of(ticket);
  judging_[process].asked = sample.id;
  loop_.send(process, to_line(sample));
}

void Graders::Work::heard_errors(std::size_t process, std::string_view bytes) {
  add_to_end(judging_[process].errors, bytes);
  listener_.errors(process, bytes);
}

std::string Graders::Work::died(std::size_t process, std::string how) {
  const std::string said = last_line(judging_[process].errors);
  if (!said.empty()) how += ": " + said;
  if (is_busy(process))
    warn("died", "reward.command: {} (at {}); another process takes its place", how,
         judging_[process].asked);
  return how;
}

bool Graders::Work::handle_line(std::size_t process, const std::string& line) {
  Judging& judging = judging_[process];
  Answered answered = parse_reply(line, section_.components);
  if (is_busy(process) && answered.id == judging.asked) {
    if (!answered.fault.empty()) return loop_.fail(process, answered.fault), false;
    judging.has_answered();
    loop_.handle(event::Replied{process, std::move(answered.reply)});
    return true;
  }
  if (answered.id.empty()) return loop_.fail(process, answered.fault), false;
  if (std::find(judging.answered.begin(), judging.answered.end(), answered.id) ==
      judging.answered.end())
    return loop_.fail(process, fmt::format("it replied to \"{}\", which it was not asked about",
                                           answered.id)),
           false;
  warn("repeated", "reward.command: it replied to {} a second time; the first reply stands",
       answered.id);
  if (++judging.repeats <= kMostRepeats) return true;
  return loop_.fail(process, "it repeats its replies without end"), false;
}

void Graders::Work::is_unusable(std::size_t process, const std::string& how) {
  const std::string& asked = judging_[process].asked;
  warn("malformed", "reward.command: {}{}; the process is ended and another takes its place", how,
       asked.empty() ? "" : fmt::format(" ({})", asked));
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

Verdict try_command(Spawner& spawner, const RewardSection& section, const Sample& sample,
                    OnFailure on_failure) {
  std::string errors;
  std::mutex mutex;
  RewardSection alone = section;
  alone.processes = 1;
  GraderListener listener{.warns = false};  // what goes wrong is told here
  listener.errors = [&](std::size_t, std::string_view bytes) {
    const std::lock_guard lock(mutex);
    add_to_end(errors, bytes);
  };
  Graders graders(spawner, alone, std::move(listener));
  graders.add({sample});
  Verdict verdict = graders.await().second.front();
  const std::lock_guard lock(mutex);
  if (const auto line = errors.find('\n');
      errors.size() == kLongestReason && line + 1 < kLongestReason)
    errors.erase(0, line + 1);  // npos + 1 is 0: the only line stays
  require<ConfigError>(
      verdict.cause == Cause::replied && (on_failure == OnFailure::accept || !verdict.reply.failed),
      fmt::format("reward.command ({}) gives no verdict: {}", command_text(section.command),
                  verdict.reply.reason),
      "it was asked to judge a reference answer before anything else",
      errors.empty()
          ? "it must write one JSON object a line, with id, score and correct, and flush it (docs/guide/own-reward.md)"
          : fmt::format("it wrote to standard error: {}", errors));
  return verdict;
}

}  // namespace rollcall::reward
