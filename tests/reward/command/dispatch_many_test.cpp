// Dispatch with several open requests a process, under random orders of events: every request that
// is wanted settles once, and its verdict depends on the request alone.
#include "reward/command/dispatch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

namespace rollcall::reward {
namespace {

enum class Fate { replies, dies, garbles, hangs };

/// What the actions must have made of the processes, kept beside the state.
struct Model {
  struct Process {
    bool runs = false, answered = false, lone = false;
    std::uint64_t life = 0;
    std::set<Ticket> open{};
  };
  Dispatch state;
  std::vector<Fate> fates;
  std::vector<Process> processes;
  std::map<Ticket, Verdict> verdicts{};
  std::map<Ticket, int> sends{};
  std::set<Ticket> dropped{};
  std::map<Ticket, std::pair<std::size_t, std::uint64_t>> homes{};
  double now_s = 0.0;

  Model(std::size_t count, std::size_t most_open, std::size_t starting, std::vector<Fate> all)
      : state(make_dispatch(count, 1e6, 0)), fates(std::move(all)), processes(count) {
    state.most_open = most_open, state.starting_at_once = starting;
  }

  void happens(decltype(Event::what) what) {
    now_s += 1.0;
    for (const Action& a : advance(state, {now_s, std::move(what)})) {
      if (const auto* start = std::get_if<action::Start>(&a)) {
        auto& process = processes.at(start->process);
        RC_ASSERT(!process.runs);
        process = {true, false, false, process.life + 1, {}};
      } else if (const auto* send = std::get_if<action::Send>(&a)) {
        auto& process = processes.at(send->process);
        const bool again = sends[send->ticket] > 0;
        RC_ASSERT(process.runs && (!process.lone || process.open.empty()));
        RC_ASSERT(process.open.insert(send->ticket).second);
        process.lone = again;
        RC_ASSERT(process.open.size() <= state.most_open);
        RC_ASSERT(!again || (process.open.size() == 1 && !process.answered));
        RC_ASSERT(++sends[send->ticket] <= 2);
        RC_ASSERT(!dropped.contains(send->ticket));
        if (const auto home = homes.find(send->ticket);
            home != homes.end() && !again &&
            processes[home->second.first].life == home->second.second &&
            processes[home->second.first].runs)
          RC_ASSERT(send->process == home->second.first);
      } else if (const auto* end = std::get_if<action::End>(&a)) {
        auto& process = processes.at(end->process);
        RC_ASSERT(process.runs);
        process.runs = false, process.open.clear();
      } else {
        const auto& settled = std::get<action::Settle>(a);
        RC_ASSERT(!dropped.contains(settled.ticket));
        RC_ASSERT(verdicts.emplace(settled.ticket, settled.verdict).second);
      }
    }
    const auto starting =
        std::count_if(processes.begin(), processes.end(),
                      [](const Process& each) { return each.runs && !each.answered; });
    RC_ASSERT(std::size_t(starting) <= state.starting_at_once);
  }
  void add(std::size_t count, bool at_home) {
    std::vector<std::optional<std::size_t>> home(count);
    for (std::size_t i = 0; i < count && at_home; ++i) {
      const std::size_t p = (state.next + i) % processes.size();
      home[i] = p, homes[state.next + i] = {p, processes[p].life};
    }
    happens(event::Added{count, home});
  }
  void drop(Ticket ticket) {
    if (verdicts.contains(ticket)) return;
    dropped.insert(ticket);
    happens(event::Dropped{ticket});
  }
  /// One of the open requests meets its fate; where all hang, the clock does.
  void go_on(std::size_t dice) {
    std::vector<std::pair<std::size_t, Ticket>> open;
    for (std::size_t p = 0; p < processes.size(); ++p)
      for (const Ticket ticket : processes[p].open)
        if (fates[ticket] != Fate::hangs) open.emplace_back(p, ticket);
    if (open.empty()) {
      now_s += 1e9;
      return happens(event::Passed{});
    }
    const auto [p, ticket] = open[dice % open.size()];
    if (fates[ticket] == Fate::replies) {
      processes[p].open.erase(ticket), processes[p].answered = true;
      return happens(event::Replied{p, {.score = double(ticket)}, ticket});
    }
    happens(
        event::Failed{p, fates[ticket] == Fate::dies ? Cause::died : Cause::malformed, "it fell"});
  }
  bool is_over() const { return verdicts.size() + dropped.size() == state.next; }
};

std::vector<Fate> some_fates(std::size_t count) {
  std::vector<Fate> fates(count);
  for (Fate& fate : fates) {
    const int drawn = *rc::gen::inRange(0, 10);
    fate = drawn < 7 ? Fate::replies : Fate(drawn - 6);
  }
  return fates;
}

TEST(DispatchMany, EveryRequestSettlesOnceByItself) {
  EXPECT_TRUE(rc::check("in any order of events", [] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 30);
    Model model(*rc::gen::inRange<std::size_t>(1, 6), *rc::gen::inRange<std::size_t>(1, 5),
                *rc::gen::inRange<std::size_t>(1, 4), some_fates(2 * count));
    model.add(count, false);
    for (int i = 0; !model.is_over() || model.state.next < model.fates.size(); ++i) {
      RC_ASSERT(i < 2000);
      if (model.state.next == count && (i == 5 || model.is_over())) model.add(count, true);
      if (*rc::gen::inRange(0, 12) == 0)
        model.drop(*rc::gen::inRange<std::uint64_t>(0, model.state.next));
      if (!model.is_over()) model.go_on(*rc::gen::arbitrary<std::size_t>());
    }
    for (const auto& [ticket, verdict] : model.verdicts) {
      RC_ASSERT(verdict.reply.undecided == (model.fates[ticket] != Fate::replies));
      RC_ASSERT(verdict.reply.undecided || verdict.reply.score == double(ticket));
    }
    RC_ASSERT(model.state.waiting.empty() && model.state.again.empty());
  }));
}

/// A request may take as long as those before it; a process that says nothing fails as a whole.
TEST(DispatchMany, TheClockGoesByWhatIsOpen) {
  Dispatch state = make_dispatch(1, 10.0, 0);
  state.most_open = 3;
  ASSERT_EQ(advance(state, {0.0, event::Added{3}}).size(), 4U);  // start, three times send
  EXPECT_DOUBLE_EQ(next_deadline_s(state), 10.0);
  EXPECT_EQ(advance(state, {9.0, event::Replied{0, {}, 0}}).size(), 1U);
  EXPECT_EQ(advance(state, {18.0, event::Replied{0, {}, 1}}).size(), 1U);
  EXPECT_DOUBLE_EQ(next_deadline_s(state), 28.0);
  EXPECT_TRUE(advance(state, {27.0, event::Passed{}}).empty());
  const auto late = advance(state, {28.0, event::Passed{}});
  ASSERT_EQ(late.size(), 3U);  // end, start, send alone: it had company before
  EXPECT_EQ(std::get<action::Send>(late[2]).ticket, 2U);
  const auto lost = advance(state, {38.0, event::Passed{}});
  ASSERT_EQ(lost.size(), 2U);  // end, settle
  EXPECT_EQ(std::get<action::Settle>(lost[1]).verdict.cause, Cause::clock);
}

/// A part of an answer is a sign of life: a conversation that is told again has its time for each
/// of its lines.
TEST(DispatchMany, APartOfAnAnswerGetsTimeAnew) {
  Dispatch state = make_dispatch(1, 10.0, 0);
  (void)advance(state, {0.0, event::Added{1}});
  EXPECT_TRUE(advance(state, {9.0, event::Heard{0, 0}}).empty());
  EXPECT_DOUBLE_EQ(next_deadline_s(state), 19.0);
  EXPECT_EQ(advance(state, {19.0, event::Passed{}}).size(), 2U);
}

}  // namespace
}  // namespace rollcall::reward
