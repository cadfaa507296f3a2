// The decisions of scoring under random orders of events: every sample gets one verdict, which
// depends on the sample alone.
#include "reward/command/dispatch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

namespace rollcall::reward {
namespace {

/// What a sample does to its process: a reply after some time, a failure after some time, or
/// nothing.
struct Fate {
  enum class Kind { replies, dies, garbles, hangs } kind = Kind::replies;
  double after_s = 1.0;
};

/// Processes that live as long as `old_age` samples, in simulated time.
struct World {
  Dispatch state;
  std::vector<Fate> fates;
  std::size_t old_age = std::numeric_limits<std::size_t>::max();
  double now_s = 0.0;
  std::map<Ticket, Verdict> verdicts{};
  std::vector<std::size_t> served{};
  std::map<std::size_t, double> due{};  ///< process -> when its event comes
  std::size_t starts = 0, most_running = 0;

  World(std::size_t processes, double timeout_s, std::vector<Fate> all)
      : state(make_dispatch(processes, timeout_s, 0)), fates(std::move(all)), served(processes) {}

  void happens(decltype(Event::what) what) {
    for (const Action& a : advance(state, {now_s, std::move(what)})) {
      if (const auto* start = std::get_if<action::Start>(&a)) ++starts, served[start->process] = 0;
      else if (const auto* send = std::get_if<action::Send>(&a)) {
        const Fate& fate = fates.at(send->ticket);
        RC_ASSERT(!due.contains(send->process));
        due[send->process] =
            now_s + (fate.kind == Fate::Kind::hangs ? std::numeric_limits<double>::infinity()
                                                    : fate.after_s);
        if (served[send->process] >= old_age) due[send->process] = now_s;
      } else if (const auto* end = std::get_if<action::End>(&a)) {
        due.erase(end->process);
      } else {
        const auto& settled = std::get<action::Settle>(a);
        // one verdict a sample
        RC_ASSERT(verdicts.emplace(settled.ticket, settled.verdict).second);
      }
    }
    most_running = std::max(most_running, due.size());
  }
  void finish(std::size_t p) {
    const Ticket ticket = state.processes[p].ticket;
    due.erase(p);
    if (served[p]++ >= old_age) return happens(event::Failed{p, Cause::died, "old"});
    switch (fates[ticket].kind) {
      case Fate::Kind::replies:
        return happens(event::Replied{
            p, {.score = double(ticket), .correct = true, .components = {}, .reason = {}}});
      case Fate::Kind::dies: return happens(event::Failed{p, Cause::died, "died"});
      case Fate::Kind::garbles: return happens(event::Failed{p, Cause::malformed, "garbled"});
      case Fate::Kind::hangs: return;
    }
  }
  void run() {
    happens(event::Added{fates.size()});
    while (verdicts.size() < fates.size()) {
      auto next = std::min_element(
          due.begin(), due.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      RC_ASSERT(next != due.end());
      const double deadline = next_deadline_s(state);
      now_s = std::max(now_s, std::min(next->second, deadline));
      if (deadline < next->second) happens(event::Passed{});
      else finish(next->first);
    }
  }
};

std::vector<Fate> some_fates() {
  const auto kinds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8));
  std::vector<Fate> fates;
  for (const int kind : kinds) {
    using Kind = Fate::Kind;
    fates.push_back({kind == 5   ? Kind::dies
                     : kind == 6 ? Kind::garbles
                     : kind == 7 ? Kind::hangs
                                 : Kind::replies,
                     double(*rc::gen::inRange(1, 90)) / 10.0});
  }
  return fates;
}

TEST(Dispatch, AVerdictDependsOnItsSampleAlone) {
  EXPECT_TRUE(rc::check("for any number of processes, times and life spans", [] {
    const auto fates = some_fates();
    World one(1, 10.0, fates), many(*rc::gen::inRange<std::size_t>(1, 9), 10.0, fates);
    many.old_age = *rc::gen::inRange<std::size_t>(1, 5);
    one.run(), many.run();
    for (std::size_t t = 0; t < fates.size(); ++t) {
      const Verdict &a = one.verdicts.at(t), &b = many.verdicts.at(t);
      RC_ASSERT(a.cause == b.cause && a.reply.undecided == b.reply.undecided &&
                a.reply.score == b.reply.score && a.reply.reason == b.reply.reason);
      RC_ASSERT(a.reply.undecided == (fates[t].kind != Fate::Kind::replies));
    }
    RC_ASSERT(many.most_running <= many.state.processes.size());
  }));
}

TEST(Dispatch, AnyEventAtAnyTimeIsAnsweredForEverySample) {
  EXPECT_TRUE(rc::check("events in a random order, not in that of any times", [] {
    World world(4, 1e9, some_fates());
    const auto order =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::arbitrary<std::size_t>());
    world.happens(event::Added{world.fates.size()});
    for (std::size_t i = 0; world.verdicts.size() < world.fates.size(); ++i) {
      world.now_s += 1.0;
      const std::size_t at = i < order.size() ? order[i] : i;
      std::vector<std::size_t> busy;
      for (const auto& [p, when] : world.due)
        if (world.fates[world.state.processes[p].ticket].kind != Fate::Kind::hangs)
          busy.push_back(p);
      if (busy.empty()) world.now_s += 1e9, world.happens(event::Passed{});
      else world.finish(busy[at % busy.size()]);
    }
    for (std::size_t t = 0; t < world.fates.size(); ++t)
      RC_ASSERT(world.verdicts.at(t).reply.undecided ==
                (world.fates[t].kind != Fate::Kind::replies));
  }));
}

/// 40 verdicts of a second on four processes are done after 10 seconds, and one of 30 s holds up
/// its own process alone.
TEST(Dispatch, SlowVerdictsDoNotHoldUpFastOnes) {
  World equal(4, 100.0, std::vector<Fate>(40));
  equal.run();
  EXPECT_DOUBLE_EQ(equal.now_s, 10.0);
  EXPECT_EQ(equal.starts, 4U);
  std::vector<Fate> fates(91);
  fates[0].after_s = 30.0;
  World uneven(4, 100.0, fates);
  uneven.run();
  EXPECT_DOUBLE_EQ(uneven.now_s, 30.0);  // 90 others on three processes
}

TEST(Dispatch, NoMoreProcessesThanAreNeeded) {
  World world(8, 10.0, std::vector<Fate>(2));
  world.run();
  EXPECT_EQ(world.starts, 2U);
}

/// A process that fails with nothing to judge costs no verdict, and one that fails at a sample gets
/// another chance in a fresh one, where it can be told apart.
TEST(Dispatch, AFailureCostsOneVerdictAtMost) {
  Dispatch state = make_dispatch(1, 10.0, 2);
  auto actions = advance(state, {0.0, event::Added{2}});
  ASSERT_EQ(actions.size(), 2U);  // start, send 0
  actions = advance(state, {1.0, event::Replied{0, {}}});
  ASSERT_EQ(actions.size(), 2U);  // settle 0, send 1
  actions = advance(state, {2.0, event::Failed{0, Cause::died, "it fell"}});
  ASSERT_EQ(actions.size(), 3U);  // end, start, send 1 again
  EXPECT_EQ(std::get<action::Send>(actions[2]).ticket, 1U);
  actions = advance(state, {3.0, event::Failed{0, Cause::died, "it fell"}});
  ASSERT_EQ(actions.size(), 2U);  // end, settle 1
  const Verdict& verdict = std::get<action::Settle>(actions[1]).verdict;
  EXPECT_TRUE(verdict.reply.undecided);
  EXPECT_TRUE(has_ended_the_judging(verdict)) << "the answer may have done it";
  EXPECT_FALSE(has_ended_the_judging({Cause::replied, {.undecided = true}}))
      << "the command says itself that it cannot tell";
  EXPECT_TRUE(has_ended_the_judging({Cause::replied, {.undecided = true, .ended = true}}));
  EXPECT_EQ(verdict.reply.reason, "it fell");
  EXPECT_EQ(verdict.reply.components.size(), 2U);
  EXPECT_DOUBLE_EQ(verdict.seconds, 1.0);
  EXPECT_THROW(advance(state, {4.0, event::Replied{0, {}}}), std::logic_error)
      << "a process that is gone cannot reply";
}

}  // namespace
}  // namespace rollcall::reward
