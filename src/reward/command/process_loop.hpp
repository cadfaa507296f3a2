// The loop over the processes of a command: it polls their pipes, reads their lines, and carries
// out what dispatch decides. Verifiers and environments that are commands both run it.
#pragma once

#include "base/time/attended_clock.hpp"
#include "reward/command/child_pipes.hpp"
#include "reward/command/dispatch.hpp"
#include "reward/command/spawner.hpp"

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// One thread calls run() and everything else while run() lasts.
class ProcessLoop {
 public:
  /// The side that asks the processes. It owns the requests and reads the replies.
  class Client {
   public:
    virtual ~Client() = default;
    /// Takes the requests made since the last call. Returns false if it is time to end.
    virtual bool admit() = 0;
    virtual void started(std::size_t process) = 0;
    virtual void send(std::size_t process, Ticket ticket) = 0;
    /// Returns false if the process was ended because of the line.
    virtual bool handle_line(std::size_t process, const std::string& line) = 0;
    virtual void heard_errors(std::size_t process, std::string_view bytes) = 0;
    /// The process has ended by itself. Returns `how` with the client's additional knowledge about
    /// it.
    virtual std::string died(std::size_t /*process*/, std::string how) { return how; }
    /// The process will be ended, because its output cannot be used.
    virtual void is_unusable(std::size_t /*process*/, const std::string& /*how*/) {}
    virtual void ended(std::size_t process) = 0;  ///< it no longer runs, for any reason
    virtual void settle(const action::Settle& settled) = 0;
    virtual void before_end() {}  ///< called once before the remaining processes are ended
    virtual void fail(std::exception_ptr failure) = 0;  ///< run() has stopped because of it
  };
  struct Settings {
    std::vector<std::string> command;
    int wake = -1;   ///< an eventfd, which becomes readable when Client::admit() has to be called
    int pieces = 1;  ///< read from a process at a time, of 64 KiB each
    std::string_view reply_is_called{};  ///< in messages: "reply"
  };

  ProcessLoop(Client& client, Spawner& spawner, Settings settings, Dispatch dispatch);

  /// Runs until Client::admit() returns false, then ends all processes. Never throws.
  void run();

  // for the client, in the functions above
  const Dispatch& dispatch() const { return dispatch_; }
  double seconds() { return clock_.seconds(); }
  bool runs(std::size_t process) const { return pipes_[process].has_value(); }
  void send(std::size_t process, const std::string& line) { pipes_[process]->send(line); }
  void handle(decltype(Event::what) what);
  /// Ends a process that wrote something unusable.
  void fail(std::size_t process, const std::string& how);

 private:
  void wait();
  void read_output(std::size_t process);
  void forget(std::size_t process);

  Client& client_;
  Spawner& spawner_;
  Settings settings_;
  AttendedClock clock_;
  Dispatch dispatch_;
  std::vector<std::optional<ChildPipes>> pipes_;  ///< [processes]
};

}  // namespace rollcall::reward
