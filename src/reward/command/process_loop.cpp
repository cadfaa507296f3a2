// Polling, reading, and the actions of dispatch. What a line means is the client's.
#include "reward/command/process_loop.hpp"

#include "reward/command/message.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <utility>

namespace rollcall::reward {
namespace {

constexpr double kSuspended_s = 1.0;  // a wait that takes longer means that the job was suspended
constexpr int kGrace_ms = 500;  // time for a process to end after its output did: the kernel closes
                                // its files first

}  // namespace

ProcessLoop::ProcessLoop(Client& client, Spawner& spawner, Settings settings, Dispatch dispatch)
    : client_(client),
      spawner_(spawner),
      settings_(std::move(settings)),
      clock_(kSuspended_s),
      dispatch_(std::move(dispatch)),
      pipes_(dispatch_.processes.size()) {}

void ProcessLoop::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // stop signals are for the main thread, and
                                                  // SIGPIPE for nobody
  try {
    while (client_.admit()) {
      wait();
      for (std::size_t process = 0; process < pipes_.size(); ++process) {
        if (pipes_[process] && pipes_[process]->has_to_write()) pipes_[process]->write();
        if (pipes_[process]) read_output(process);
      }
      handle(event::Passed{});
    }
    client_.before_end();
    for (const auto& pipes : pipes_)
      if (pipes) spawner_.end(pipes->child().pid);
  } catch (...) {
    client_.fail(std::current_exception());
  }
}

void ProcessLoop::wait() {
  std::vector<const ChildPipes*> processes;
  for (const auto& pipes : pipes_) processes.push_back(pipes ? &*pipes : nullptr);
  wait_for(settings_.wake, processes, next_deadline_s(dispatch_) - clock_.seconds());
  std::uint64_t times = 0;
  (void)!::read(settings_.wake, &times, sizeof times);
}

void ProcessLoop::read_output(std::size_t process) {
  ChildPipes& pipes = *pipes_[process];
  const auto errors = [&](std::string_view bytes) { client_.heard_errors(process, bytes); };
  pipes.read_errors(errors);
  const bool open = pipes.read(settings_.pieces);
  while (const auto line = pipes.lines().next())
    if (!client_.handle_line(process, *line)) return;
  if (pipes.lines().too_long())
    return fail(process, fmt::format("its {} is longer than {} bytes", settings_.reply_is_called,
                                     kLongestReply));
  if (open) return;
  pipes.read_errors(errors);
  const std::string ended = spawner_.end(pipes.child().pid, kGrace_ms);
  const std::string how = client_.died(
      process, ended.empty() ? "the command closed its output" : "the command " + ended);
  forget(process);
  handle(event::Failed{process, Cause::died, how});
}

void ProcessLoop::forget(std::size_t process) {
  client_.ended(process);
  pipes_[process].reset();
}

void ProcessLoop::fail(std::size_t process, const std::string& how) {
  client_.is_unusable(process, how);
  handle(event::Failed{process, Cause::malformed, how});
}

void ProcessLoop::handle(decltype(Event::what) what) {
  for (const Action& decided : advance(dispatch_, {clock_.seconds(), std::move(what)})) {
    if (const auto* start = std::get_if<action::Start>(&decided)) {
      pipes_[start->process].emplace(spawner_.start(settings_.command));
      client_.started(start->process);
    } else if (const auto* sent = std::get_if<action::Send>(&decided)) {
      client_.send(sent->process, sent->ticket);
    } else if (const auto* end = std::get_if<action::End>(&decided)) {
      if (!pipes_[end->process]) continue;
      spawner_.end(pipes_[end->process]->child().pid);
      forget(end->process);
    } else {
      client_.settle(std::get<action::Settle>(decided));
    }
  }
}

}  // namespace rollcall::reward
