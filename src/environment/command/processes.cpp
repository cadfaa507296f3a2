// Conversations as requests of a process loop, and what the answers say of them.
#include "environment/command/processes.hpp"

#include "base/errors/log.hpp"
#include "environment/command/lines_of_talk.hpp"
#include "environment/command/message.hpp"
#include "environment/command/post.hpp"
#include "reward/command/json_line.hpp"
#include "reward/command/process_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <thread>
#include <utility>
#include <variant>

namespace rollcall::environment {
namespace {

using reward::Cause, reward::Ticket, reward::ProcessLoop;

constexpr int kPieces = 1;             // read from a process at a time
constexpr std::size_t kMostOpen = 64;  // conversations that wait for one process at a time
constexpr auto kForLastLines = std::chrono::milliseconds(50);  // to read that conversations end

Loss loss_of(Cause cause) {
  return cause == Cause::clock ? Loss::clock : cause == Cause::died ? Loss::died : Loss::malformed;
}

/// Warnings of one kind, at most one a second.
class PacedLog {
 public:
  /// `then`: what becomes of it.
  void add(double now_s, const std::string& what, const char* then) {
    if (now_s < next_s_) {
      ++unsaid_;
      return;
    }
    log_warning("environment: {} ({}{})", what, then,
                unsaid_ == 0 ? "" : fmt::format("; {} others since the last such line", unsaid_));
    next_s_ = now_s + 1.0, unsaid_ = 0;
  }

 private:
  double next_s_ = 0.0;
  std::size_t unsaid_ = 0;
};

/// Requests to any process, as many at a time as conversations wait for it.
reward::Dispatch dispatch_for(const EnvironmentSection& section) {
  auto dispatch = reward::make_dispatch(std::size_t(section.processes), section.timeout_s, 0);
  dispatch.most_open = kMostOpen;
  dispatch.starting_at_once = std::max(1U, std::thread::hardware_concurrency());
  return dispatch;
}

class Processes final : public Partner, private ProcessLoop::Client {
 public:
  Processes(reward::Spawner& spawner, const EnvironmentSection& section, CommandListener listener)
      : section_(section),
        listener_(std::move(listener)),
        traits_(traits_of(section)),
        running_(std::size_t(section.processes)),
        loop_(*this, spawner, {section.command, post_.wake_fd(), kPieces, "answer"},
              dispatch_for(section)),
        thread_([this] { loop_.run(); }) {}
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
  /// What a process that runs was asked. Processes that take its place have other lives.
  struct Running {
    std::uint64_t life = 0;
    std::map<std::string, Ticket> asked{};  ///< by id of the conversation
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

  bool admit() override;
  void admit(LinesOfTalk lines);
  void admit(const std::string& closed);
  void started(std::size_t process) override { running_[process] = {lives_.next(process)}; }
  void send(std::size_t process, Ticket ticket) override;
  bool handle_line(std::size_t process, const std::string& line) override;
  /// Returns false if the process was ended because of the answer.
  bool handle_answer(std::size_t process, Ticket ticket, Answer answer);
  void heard_errors(std::size_t process, std::string_view bytes) override {
    if (listener_.errors) listener_.errors(process, bytes);
  }
  void ended(std::size_t process) override;
  void settle(const reward::action::Settle& settled) override;
  void before_end() override;
  void fail(std::exception_ptr failure) override { post_.fail(std::move(failure)); }
  bool lives(std::size_t process, std::uint64_t life) const {
    return loop_.runs(process) && running_[process].life == life;
  }
  bool lives(const Known& known) const {
    return known.home && lives(known.home->first, known.home->second);
  }

  EnvironmentSection section_;
  CommandListener listener_;
  Traits traits_;
  Post post_;

  // of the thread:
  std::vector<Running> running_;  ///< [processes]
  Lives lives_;
  std::map<std::string, Known> known_;
  std::map<Ticket, Request> requests_;
  PacedLog lost_, strays_;
  ProcessLoop loop_;
  std::thread thread_;
};

void Processes::before_end() {
  bool said = false;
  for (const auto& [id, known] : known_)
    if (lives(known)) loop_.send(known.home->first, close_line(id)), said = true;
  if (said) std::this_thread::sleep_for(kForLastLines);
}

bool Processes::admit() {
  auto items = post_.collect();
  if (!items) return false;
  for (auto& item : *items) std::visit([this](auto& each) { admit(std::move(each)); }, item);
  return true;
}

void Processes::admit(LinesOfTalk lines) {
  Known& known = known_[lines.id()];
  const Ticket ticket = loop_.dispatch().next;
  known.ticket = ticket;
  const bool goes_home = !lines.has_state() && lives(known);
  requests_.emplace(ticket, Request{std::move(lines)});
  loop_.handle(
      reward::event::Added{1, {goes_home ? std::optional(known.home->first) : std::nullopt}});
}

void Processes::admit(const std::string& closed) {
  const auto entry = known_.extract(closed);
  if (entry.empty()) return;
  const Known& known = entry.mapped();
  if (!known.ticket) {
    if (lives(known)) loop_.send(known.home->first, close_line(closed));
    return;
  }
  requests_.at(*known.ticket).dropped = true;
  loop_.handle(reward::event::Dropped{*known.ticket});
  for (const Running& running : running_)
    if (running.asked.contains(closed)) return;  // its answer is awaited
  requests_.erase(*known.ticket);
}

bool Processes::handle_line(std::size_t process, const std::string& line) {
  Running& running = running_[process];
  Parsed parsed = parse_answer(line, traits_);
  const auto asked = running.asked.find(parsed.id);
  const bool is_awaited = asked != running.asked.end();
  if (!parsed.fault.empty() && (is_awaited || parsed.id.empty()))
    return loop_.fail(process, parsed.fault), false;
  const Request* request = is_awaited ? &requests_.at(asked->second) : nullptr;
  const std::string stray =
      is_awaited ? request->lines.wrong_turn(request->line, parsed)
                 : fmt::format(
                       "it answers {}, which waits for no answer: a close gets none, and any other "
                       "line one",
                       reward::shown_line(parsed.id));
  if (stray.empty()) return handle_answer(process, asked->second, std::move(parsed.answer));
  strays_.add(loop_.seconds(), stray, "the process is ended, and what it was asked is asked again");
  loop_.fail(process, stray);
  return false;
}

bool Processes::handle_answer(std::size_t process, Ticket ticket, Answer answer) {
  Running& running = running_[process];
  Request& request = requests_.at(ticket);
  const std::string id = request.lines.id();
  const bool goes_on = !answer.done && answer.loss == Loss::none;
  const auto known = request.dropped ? known_.end() : known_.find(id);
  if (known != known_.end() && goes_on) {
    auto& keeps = known->second.keeps_state;
    if (keeps.value_or(!answer.state) != !answer.state)
      return loop_.fail(process,
                        "it hands out the state of a conversation at one time and not at another"),
             false;
    keeps = !answer.state;
  }
  if (request.line + 1 < request.lines.count() && !request.dropped && answer.loss == Loss::none) {
    if (request.lines.was_said(request.line, answer)) {
      loop_.send(process, request.lines.line(++request.line));
      loop_.handle(reward::event::Heard{process, ticket});
      return true;
    }
    answer = {.reason = fmt::format(
                  "after a restart it did not say again what it had said to turn {}", request.line),
              .loss = Loss::changed};
  }
  const bool was_kept = request.line > 0 && !request.lines.has_state(),
             is_kept = !answer.state && (goes_on || was_kept);
  if (is_kept && request.dropped) loop_.send(process, close_line(id));
  if (is_kept && known != known_.end()) known->second.home = {process, running.life};
  request.answer = std::move(answer);
  running.asked.erase(id);
  const bool dropped = request.dropped;
  const std::uint64_t life = running.life;
  loop_.handle(reward::event::Replied{process, {}, ticket});
  if (dropped) requests_.erase(ticket);
  return lives(process, life);
}

void Processes::send(std::size_t process, Ticket ticket) {
  Request& request = requests_.at(ticket);
  Running& running = running_[process];
  const Known& known = known_.at(request.lines.id());
  const bool is_home = lives(known) && known.home->first == process;
  request.line = request.lines.has_state() || is_home ? request.lines.count() - 1 : 0;
  if (!request.first_s) request.first_s = loop_.seconds();
  running.asked[request.lines.id()] = ticket;
  loop_.send(process, request.lines.line(request.line));
}

void Processes::ended(std::size_t process) {
  for (const auto& [id, ticket] : running_[process].asked)
    if (const auto request = requests_.find(ticket);
        request != requests_.end() && request->second.dropped)
      requests_.erase(request);
  running_[process] = {};
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
    const double now_s = loop_.seconds();
    std::string what =
        fmt::format("{} {}: {}", request.lines.id(), request.lines.where(), answer.reason);
    if (cause == Cause::clock)
      what += fmt::format(", {:.0f} s after it was first asked",
                          now_s - request.first_s.value_or(now_s));
    lost_.add(now_s, what, "lost");
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
