// One function per event; afterwards free processes take what is waiting.
#include "reward/command/dispatch.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace rollcall::reward {
namespace {

using Phase = Dispatch::Phase;
using Process = Dispatch::Process;
using Open = Dispatch::Open;

/// The time at which a busy process counts as too slow.
double deadline_s(const Process& process, double timeout_s) {
  double deadline = process.heard_s + timeout_s;
  for (const Open& open : process.open)
    deadline = std::min(deadline, open.since_s + open.allowed_s);
  return deadline;
}

class Step {
 public:
  Step(Dispatch& state, double now_s) : state_(state), now_s_(now_s) {}

  void operator()(const event::Added& added) {
    for (std::uint64_t i = 0; i < added.samples; ++i) {
      const auto home = i < added.home.size() ? added.home[i] : std::nullopt;
      const bool lives = home && state_.processes.at(*home).phase != Phase::absent;
      (lives ? state_.processes[*home].homed : state_.waiting).push_back(state_.next++);
    }
  }
  void operator()(const event::Replied& replied) {
    auto& process = busy(replied.process);
    const auto open = replied.ticket ? open_of(process, *replied.ticket) : process.open.begin();
    const Open answered = *open;
    process.open.erase(open);
    if (!answered.dropped) settle(answered, Cause::replied, replied.reply);
    process.phase = process.open.empty() ? Phase::ready : Phase::busy;
    process.fresh = false, process.started = true, process.heard_s = now_s_;
  }
  void operator()(const event::Heard& heard) {
    auto& process = busy(heard.process);
    open_of(process, heard.ticket)->allowed_s += state_.timeout_s;
    process.started = true, process.heard_s = now_s_;
  }
  void operator()(const event::Dropped& dropped) {
    std::erase(state_.waiting, dropped.ticket), std::erase(state_.again, dropped.ticket);
    for (auto& process : state_.processes) {
      std::erase(process.homed, dropped.ticket);
      for (Open& open : process.open) open.dropped |= open.ticket == dropped.ticket;
    }
  }
  void operator()(const event::Failed& failed) {
    expect(state_.processes.at(failed.process).phase != Phase::absent,
           "a process that is not there cannot fail");
    end(failed.process, failed.cause, failed.how, false);
  }
  void operator()(const event::Passed&) {
    for (std::size_t p = 0; p < state_.processes.size(); ++p)
      if (const auto& process = state_.processes[p];
          process.phase == Phase::busy && now_s_ >= deadline_s(process, state_.timeout_s))
        end(p, Cause::clock, fmt::format("no verdict after {} s", state_.timeout_s), true);
  }
  void pull() {
    for (std::size_t p = 0; p < state_.processes.size() && !state_.again.empty(); ++p)
      if (may_start() && (state_.processes[p].phase == Phase::absent || has_asked_again(p)))
        ask_again(p);
    for (std::size_t p = 0; p < state_.processes.size(); ++p)
      while (!state_.processes[p].homed.empty() && can_take(p))
        give(p, taken(state_.processes[p].homed), false);
    while (!state_.waiting.empty()) {
      const auto p = free_process();
      if (!p) return;
      give(*p, taken(state_.waiting), false);
    }
  }
  std::vector<Action> actions{};

 private:
  static Ticket taken(std::deque<Ticket>& from) {
    const Ticket ticket = from.front();
    from.pop_front();
    return ticket;
  }
  Process& busy(std::size_t p) {
    auto& process = state_.processes.at(p);
    expect(process.phase == Phase::busy, "only a process that was given a request replies");
    return process;
  }
  static std::vector<Open>::iterator open_of(Process& process, Ticket ticket) {
    const auto open = std::find_if(process.open.begin(), process.open.end(),
                                   [&](const Open& each) { return each.ticket == ticket; });
    expect(open != process.open.end(), "a process replies to what it was given");
    return open;
  }
  bool may_start() const {
    const auto starting = std::count_if(
        state_.processes.begin(), state_.processes.end(),
        [](const Process& each) { return each.phase == Phase::busy && !each.started; });
    return std::size_t(starting) < state_.starting_at_once;
  }
  /// Whether the process is idle after a request that was asked again. It makes way for the next
  /// such request, so that these always have a process while there are any.
  bool has_asked_again(std::size_t p) const {
    return state_.processes[p].lone && state_.processes[p].phase == Phase::ready;
  }
  bool can_take(std::size_t p) const {
    const auto& process = state_.processes[p];
    return process.phase != Phase::absent && process.open.size() < state_.most_open &&
           (!process.lone || (process.open.empty() && state_.again.empty()));
  }
  /// Running processes come first, so that no more are started than are needed.
  std::optional<std::size_t> free_process() const {
    std::optional<std::size_t> absent, fewest;
    for (std::size_t p = 0; p < state_.processes.size(); ++p) {
      const auto& process = state_.processes[p];
      if (process.phase == Phase::absent && !absent) absent = p;
      if (!can_take(p)) continue;
      if (process.open.empty()) return p;
      if (!fewest || process.open.size() < state_.processes[*fewest].open.size()) fewest = p;
    }
    if (absent) return may_start() ? absent : std::nullopt;
    return fewest;
  }
  void give(std::size_t p, Ticket ticket, bool lone) {
    auto& process = state_.processes[p];
    if (process.phase == Phase::absent) actions.emplace_back(action::Start{p});
    for (Open& open : process.open) open.alone = false;
    if (process.open.empty()) process.heard_s = now_s_;
    process.open.push_back(
        {ticket, now_s_, state_.timeout_s * double(process.open.size() + 1), process.open.empty()});
    process.phase = Phase::busy, process.ticket = ticket, process.lone = lone;
    actions.emplace_back(action::Send{p, ticket});
  }
  /// Repeats the next request that has to be asked again, in a fresh process.
  void ask_again(std::size_t p) {
    if (state_.processes[p].phase != Phase::absent) actions.emplace_back(action::End{p}), leave(p);
    give(p, taken(state_.again), true);
  }
  /// The process is gone, and requests that waited for it go to any process.
  void leave(std::size_t p) {
    auto& homed = state_.processes[p].homed;
    state_.waiting.insert(state_.waiting.begin(), homed.begin(), homed.end());
    state_.processes[p] = {};
  }
  void end(std::size_t p, Cause cause, const std::string& how, bool too_slow) {
    actions.emplace_back(action::End{p});
    const Process process = state_.processes[p];
    leave(p);
    for (const Open& open : process.open) {
      if (open.dropped) continue;
      if (!open.alone || (!process.fresh && !too_slow)) state_.again.push_back(open.ticket);
      else settle(open, cause, undecided(how));
    }
    if (!state_.again.empty() && may_start()) ask_again(p);  // before other processes
  }
  Reply undecided(std::string reason) const {
    return {.components = std::vector<double>(state_.components, 0.0),
            .undecided = true,
            .reason = std::move(reason)};
  }
  void settle(const Open& open, Cause cause, Reply reply) {
    actions.emplace_back(
        action::Settle{open.ticket, {cause, std::move(reply), now_s_ - open.since_s}});
  }

  Dispatch& state_;
  double now_s_;
};

}  // namespace

Dispatch make_dispatch(std::size_t processes, double timeout_s, std::size_t components) {
  Dispatch state;
  state.processes.resize(processes);
  state.timeout_s = timeout_s, state.components = components;
  return state;
}

std::vector<Action> advance(Dispatch& state, const Event& event) {
  Step step(state, event.now_s);
  std::visit(step, event.what);
  step.pull();
  return std::move(step.actions);
}

double next_deadline_s(const Dispatch& state) {
  double next = std::numeric_limits<double>::infinity();
  for (const auto& process : state.processes)
    if (process.phase == Phase::busy) next = std::min(next, deadline_s(process, state.timeout_s));
  return next;
}

}  // namespace rollcall::reward
