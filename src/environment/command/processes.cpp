// The thread that polls the pipes of all processes and carries out what dispatch decides.
#include "environment/command/processes.hpp"

#include "base/errors/log.hpp"
#include "base/time/attended_clock.hpp"
#include "environment/command/lines_of_talk.hpp"
#include "environment/command/message.hpp"
#include "environment/command/post.hpp"
#include "reward/command/child_pipes.hpp"
#include "reward/command/dispatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <map>
#include <thread>
#include <utility>
#include <variant>

namespace rollcall::environment {
namespace {

using reward::Cause, reward::Ticket, reward::ChildPipes;

constexpr double kSuspended_s = 1.0;   // a wait that takes longer means that the job was suspended
constexpr int kGrace_ms = 500;         // for a process to end after its output did
constexpr std::size_t kMostOpen = 64;  // conversations that wait for one process at a time
constexpr int kMostStrays = 100;       // answers of a process that nobody waits for
constexpr auto kForLastLines = std::chrono::milliseconds(50);  // to read that conversations end

Loss loss_of(Cause cause) {
  return cause == Cause::clock ? Loss::clock : cause == Cause::died ? Loss::died : Loss::malformed;
}

/// Names conversations that are lost, at most one a second.
class LostLog {
 public:
  void add(double now_s, const std::string& which, const std::string& reason) {
    if (now_s < next_s_) {
      ++unsaid_;
      return;
    }
    log_warning("environment: {}: {} (lost{})", which, reason,
                unsaid_ == 0 ? "" : fmt::format("; {} others since the last such line", unsaid_));
    next_s_ = now_s + 1.0, unsaid_ = 0;
  }

 private:
  double next_s_ = 0.0;
  std::size_t unsaid_ = 0;
};

class Processes final : public Partner {
 public:
  Processes(reward::Spawner& spawner, const EnvironmentSection& section, CommandListener listener)
      : spawner_(spawner),
        section_(section),
        listener_(std::move(listener)),
        traits_(traits_of(section)),
        dispatch_(reward::make_dispatch(std::size_t(section.processes), section.timeout_s, 0)),
        running_(std::size_t(section.processes)) {
    dispatch_.most_open = kMostOpen;
    dispatch_.starting_at_once = std::max(1U, std::thread::hardware_concurrency());
    thread_ = std::thread([this] { run(); });
  }
  ~Processes() override {
    post_.end();
    thread_.join();
  }

  const Traits& traits() const override { return traits_; }
  std::optional<Answer> ask(const Talk& talk, std::uint64_t conversation,
                            AnswerQueue& queue) override {
    post_.ask(LinesOfTalk(talk), conversation, queue);
    return std::nullopt;
  }
  void close(const Talk& talk) override { post_.close(talk.id); }
  std::int64_t take_restarts() override { return lives_.restarts.exchange(0); }

 private:
  /// A process that runs. Processes that take its place have other lives.
  struct Running {
    ChildPipes pipes;
    std::uint64_t life = 0;
    std::map<std::string, Ticket> asked{};  ///< by id of the conversation
    int strays = 0;
  };
  struct Lives {
    std::map<std::size_t, std::uint64_t> begun{};  ///< how often each process was started
    std::atomic<std::int64_t> restarts = 0;        ///< since take_restarts(), which others call

    std::uint64_t next(std::size_t process) {
      const std::uint64_t life = ++begun[process];
      if (life > 1) ++restarts;
      return life;
    }
  };
  /// A conversation that has been asked for and not been closed.
  struct Known {
    std::optional<bool> keeps_state{};  ///< nothing: it has not answered yet
    /// The process that keeps its state, and that one's life.
    std::optional<std::pair<std::size_t, std::uint64_t>> home{};
    std::optional<Ticket> ticket{};
  };
  struct Request {
    LinesOfTalk lines;
    std::size_t line = 0;  ///< of those in `lines`: the one that waits for its answer
    Answer answer{};
    bool dropped = false;             ///< the conversation was closed
    std::optional<double> first_s{};  ///< when a process was given it for the first time
  };

  void run();
  bool admit();  ///< takes what was asked and closed; returns false if it is time to end
  void admit(LinesOfTalk lines);
  void admit(const std::string& closed);
  void wait();
  void read_output(std::size_t process);
  /// Returns false if the process was ended because of the line.
  bool handle_line(std::size_t process, const std::string& line);
  bool handle_answer(std::size_t process, Ticket ticket, Answer answer);  ///< likewise
  void send(std::size_t process, Ticket ticket);
  void forget(std::size_t process);  ///< the process is ended, or will not run any longer
  void fail(std::size_t process, Cause cause, const std::string& how);
  void handle(decltype(reward::Event::what) what);
  void settle(const reward::action::Settle& settled);
  bool lives(const Known& known) const {
    return known.home && running_[known.home->first] &&
           running_[known.home->first]->life == known.home->second;
  }

  reward::Spawner& spawner_;
  EnvironmentSection section_;
  CommandListener listener_;
  Traits traits_;
  Post post_;

  // of the thread:
  AttendedClock clock_{kSuspended_s};
  reward::Dispatch dispatch_;
  std::vector<std::optional<Running>> running_;  ///< [processes]
  Lives lives_;
  std::map<std::string, Known> known_;
  std::map<Ticket, Request> requests_;
  LostLog lost_;
  std::thread thread_;
};

void Processes::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // stop signals are for the main thread, and
                                                  // SIGPIPE for nobody
  try {
    while (admit()) {
      wait();
      for (std::size_t process = 0; process < running_.size(); ++process) {
        if (running_[process] && running_[process]->pipes.has_to_write())
          running_[process]->pipes.write();
        if (running_[process]) read_output(process);
      }
      handle(reward::event::Passed{});
    }
    bool said = false;
    for (const auto& [id, known] : known_)
      if (lives(known)) running_[known.home->first]->pipes.send(close_line(id)), said = true;
    if (said) std::this_thread::sleep_for(kForLastLines);
    for (auto& running : running_)
      if (running) spawner_.end(running->pipes.child().pid);
  } catch (...) {
    post_.fail(std::current_exception());
  }
}

bool Processes::admit() {
  auto items = post_.collect();
  if (!items) return false;
  for (auto& item : *items) std::visit([this](auto& each) { admit(std::move(each)); }, item);
  return true;
}

void Processes::admit(LinesOfTalk lines) {
  Known& known = known_[lines.id()];
  const Ticket ticket = dispatch_.next;
  known.ticket = ticket;
  const bool goes_home = !lines.has_state() && lives(known);
  requests_.emplace(ticket, Request{std::move(lines)});
  handle(reward::event::Added{1, {goes_home ? std::optional(known.home->first) : std::nullopt}});
}

void Processes::admit(const std::string& closed) {
  const auto entry = known_.extract(closed);
  if (entry.empty()) return;
  const Known& known = entry.mapped();
  if (!known.ticket) {
    if (lives(known)) running_[known.home->first]->pipes.send(close_line(closed));
    return;
  }
  requests_.at(*known.ticket).dropped = true;
  handle(reward::event::Dropped{*known.ticket});
  for (const auto& running : running_)
    if (running && running->asked.contains(closed)) return;  // its answer is awaited
  requests_.erase(*known.ticket);
}

void Processes::wait() {
  std::vector<const ChildPipes*> processes;
  for (const auto& running : running_) processes.push_back(running ? &running->pipes : nullptr);
  reward::wait_for(post_.wake_fd(), processes, next_deadline_s(dispatch_) - clock_.seconds());
  post_.clear_wake();
}

void Processes::read_output(std::size_t process) {
  ChildPipes& pipes = running_[process]->pipes;
  const auto errors = [&](std::string_view bytes) {
    if (listener_.errors) listener_.errors(process, bytes);
  };
  pipes.read_errors(errors);
  const bool open = pipes.read(1);
  while (const auto line = pipes.lines().next())
    if (!handle_line(process, *line)) return;
  if (pipes.lines().too_long())
    return fail(process, Cause::malformed,
                fmt::format("its answer is longer than {} bytes", kLongestAnswer));
  if (open) return;
  pipes.read_errors(errors);
  const std::string ended = spawner_.end(pipes.child().pid, kGrace_ms);
  forget(process);
  handle(reward::event::Failed{
      process, Cause::died,
      ended.empty() ? "the command closed its output" : "the command " + ended});
}

bool Processes::handle_line(std::size_t process, const std::string& line) {
  Running& running = *running_[process];
  Parsed parsed = parse_answer(line, traits_);
  if (const auto asked = running.asked.find(parsed.id); asked != running.asked.end()) {
    if (!parsed.fault.empty()) return fail(process, Cause::malformed, parsed.fault), false;
    return handle_answer(process, asked->second, std::move(parsed.answer));
  }
  if (parsed.id.empty() && !parsed.fault.empty())
    return fail(process, Cause::malformed, parsed.fault), false;
  if (++running.strays <= kMostStrays) return true;
  return fail(process, Cause::malformed, "it answers conversations that are not open, without end"),
         false;
}

bool Processes::handle_answer(std::size_t process, Ticket ticket, Answer answer) {
  Running& running = *running_[process];
  Request& request = requests_.at(ticket);
  const std::string id = request.lines.id();
  const bool goes_on = !answer.done && answer.loss == Loss::none;
  const auto known = request.dropped ? known_.end() : known_.find(id);
  if (known != known_.end() && goes_on) {
    auto& keeps = known->second.keeps_state;
    if (keeps.value_or(!answer.state) != !answer.state)
      return fail(process, Cause::malformed,
                  "it hands out the state of a conversation at one time and not at another"),
             false;
    keeps = !answer.state;
  }
  if (request.line + 1 < request.lines.count() && !request.dropped && answer.loss == Loss::none) {
    if (request.lines.was_said(request.line, answer)) {
      running.pipes.send(request.lines.line(++request.line));
      handle(reward::event::Heard{process, ticket});
      return true;
    }
    answer = {.reason = fmt::format(
                  "after a restart it did not say again what it had said to turn {}", request.line),
              .loss = Loss::changed};
  }
  const bool was_kept = request.line > 0 && !request.lines.has_state(),
             is_kept = !answer.state && (goes_on || was_kept);
  if (is_kept && request.dropped) running.pipes.send(close_line(id));
  if (is_kept && known != known_.end()) known->second.home = {process, running.life};
  request.answer = std::move(answer);
  running.asked.erase(id);
  const bool dropped = request.dropped;
  const std::uint64_t life = running.life;
  handle(reward::event::Replied{process, {}, ticket});
  if (dropped) requests_.erase(ticket);
  return running_[process] && running_[process]->life == life;
}

void Processes::send(std::size_t process, Ticket ticket) {
  Request& request = requests_.at(ticket);
  Running& running = *running_[process];
  const Known& known = known_.at(request.lines.id());
  const bool is_home = lives(known) && known.home->first == process;
  request.line = request.lines.has_state() || is_home ? request.lines.count() - 1 : 0;
  if (!request.first_s) request.first_s = clock_.seconds();
  running.asked[request.lines.id()] = ticket;
  running.pipes.send(request.lines.line(request.line));
}

void Processes::forget(std::size_t process) {
  if (!running_[process]) return;
  for (const auto& [id, ticket] : running_[process]->asked)
    if (const auto request = requests_.find(ticket);
        request != requests_.end() && request->second.dropped)
      requests_.erase(request);
  running_[process].reset();
}

void Processes::fail(std::size_t process, Cause cause, const std::string& how) {
  handle(reward::event::Failed{process, cause, how});
}

void Processes::handle(decltype(reward::Event::what) what) {
  for (const auto& decided : advance(dispatch_, {clock_.seconds(), std::move(what)})) {
    if (const auto* start = std::get_if<reward::action::Start>(&decided)) {
      running_[start->process].emplace(
          Running{ChildPipes(spawner_.start(section_.command)), lives_.next(start->process)});
    } else if (const auto* sent = std::get_if<reward::action::Send>(&decided)) {
      send(sent->process, sent->ticket);
    } else if (const auto* end = std::get_if<reward::action::End>(&decided)) {
      if (running_[end->process]) spawner_.end(running_[end->process]->pipes.child().pid);
      forget(end->process);
    } else {
      settle(std::get<reward::action::Settle>(decided));
    }
  }
}

void Processes::settle(const reward::action::Settle& settled) {
  auto entry = requests_.extract(settled.ticket);
  Request& request = entry.mapped();
  const Cause cause = settled.verdict.cause;
  // The reason is stored, so it says nothing that another run would measure otherwise.
  const auto why = [&] {
    if (cause != Cause::clock) return settled.verdict.reply.reason;
    return fmt::format("no answer after {} s alone in a process", section_.timeout_s);
  };
  Answer answer = cause == Cause::replied ? std::move(request.answer)
                                          : Answer{.reason = why(), .loss = loss_of(cause)};
  if (answer.loss != Loss::none) {
    const double now_s = clock_.seconds();
    lost_.add(now_s, request.lines.id() + " " + request.lines.where(),
              cause == Cause::clock
                  ? fmt::format("{}, {:.0f} s after it was first asked", answer.reason,
                                now_s - request.first_s.value_or(now_s))
                  : answer.reason);
  }
  known_.at(request.lines.id()).ticket.reset();
  if (listener_.answered) listener_.answered();
  post_.deliver(request.lines.id(), std::move(answer));
}

}  // namespace

std::unique_ptr<Partner> make_processes(reward::Spawner& spawner, const RunConfig& config,
                                        CommandListener listener) {
  return std::make_unique<Processes>(spawner, config.environment, std::move(listener));
}

}  // namespace rollcall::environment
