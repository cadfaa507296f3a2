// One function per event; a process that becomes free takes the next sample.
#include "reward/command/dispatch.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rollcall::reward {
namespace {

using Phase = Dispatch::Phase;

class Step {
 public:
  Step(Dispatch& state, double now_s) : state_(state), now_s_(now_s) {}

  void operator()(const event::Added& added) {
    for (std::uint64_t i = 0; i < added.samples; ++i) state_.waiting.push_back(state_.next++);
  }
  void operator()(const event::Replied& replied) {
    auto& process = busy(replied.process);
    settle(process, Cause::replied, replied.reply);
    process.phase = Phase::ready, process.fresh = false;
  }
  void operator()(const event::Failed& failed) {
    auto& process = state_.processes.at(failed.process);
    expect(process.phase != Phase::absent, "a process that is not there cannot fail");
    actions.emplace_back(action::End{failed.process});
    const bool again = process.phase == Phase::busy && !process.fresh;
    if (process.phase == Phase::busy && !again)
      settle(process, failed.cause, undecided(failed.how));
    process.phase = Phase::absent;
    if (again) give(failed.process, process.ticket);
  }
  void operator()(const event::Passed&) {
    for (std::size_t p = 0; p < state_.processes.size(); ++p) {
      auto& process = state_.processes[p];
      if (process.phase != Phase::busy || now_s_ < process.since_s + state_.timeout_s) continue;
      actions.emplace_back(action::End{p});
      settle(process, Cause::clock,
             undecided(fmt::format("no verdict after {} s", state_.timeout_s)));
      process.phase = Phase::absent;
    }
  }
  /// Gives samples to running processes first, so that no more are started than are needed.
  void pull() {
    for (const Phase phase : {Phase::ready, Phase::absent})
      for (std::size_t p = 0; p < state_.processes.size() && !state_.waiting.empty(); ++p) {
        if (state_.processes[p].phase != phase) continue;
        const Ticket ticket = state_.waiting.front();
        state_.waiting.pop_front();
        give(p, ticket);
      }
  }
  std::vector<Action> actions{};

 private:
  Dispatch::Process& busy(std::size_t p) {
    auto& process = state_.processes.at(p);
    expect(process.phase == Phase::busy, "only a process that was given a sample replies");
    return process;
  }
  void give(std::size_t p, Ticket ticket) {
    auto& process = state_.processes[p];
    if (process.phase == Phase::absent)
      actions.emplace_back(action::Start{p}), process.fresh = true;
    process.phase = Phase::busy, process.ticket = ticket, process.since_s = now_s_;
    actions.emplace_back(action::Send{p, ticket});
  }
  Reply undecided(std::string reason) const {
    return {.components = std::vector<double>(state_.components, 0.0),
            .undecided = true,
            .reason = std::move(reason)};
  }
  void settle(const Dispatch::Process& process, Cause cause, Reply reply) {
    actions.emplace_back(
        action::Settle{process.ticket, {cause, std::move(reply), now_s_ - process.since_s}});
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
    if (process.phase == Phase::busy) next = std::min(next, process.since_s + state.timeout_s);
  return next;
}

}  // namespace rollcall::reward
