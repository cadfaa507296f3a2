// Control messages: bytes and back is the identity; anything that is not a whole message is
// refused.
#include "core/serialize.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <tuple>

namespace rollcall {
namespace {

using rc::gen::arbitrary;

/// Every bit pattern of a double, signalling and infinite ones included; compared as bits.
double any_double() { return std::bit_cast<double>(*arbitrary<std::uint64_t>()); }

GroupId any_id() {
  return {*arbitrary<std::uint64_t>(), {*arbitrary<std::uint64_t>()}, *arbitrary<std::uint32_t>()};
}

StepPlan any_plan() {
  StepPlan p;
  p.purpose = *rc::gen::element(Purpose::train, Purpose::validation, Purpose::eval);
  p.split = *rc::gen::element(Split::train, Split::validation, Split::heldout);
  p.step = *arbitrary<std::uint64_t>();
  p.round = *arbitrary<std::uint32_t>();
  p.policy = {*arbitrary<std::uint64_t>()};
  p.sampling = {any_double(), *arbitrary<std::int64_t>(), any_double(), *arbitrary<std::int64_t>(),
                *arbitrary<std::vector<std::string>>()};
  const int groups = *rc::gen::inRange(0, 5);
  for (int g = 0; g < groups; ++g)
    p.groups.push_back({any_id(), *arbitrary<std::int32_t>(), *arbitrary<std::uint32_t>(),
                        *arbitrary<std::uint32_t>()});
  return p;
}

StepReport any_report() {
  StepReport r;
  r.purpose = *rc::gen::element(Purpose::train, Purpose::validation, Purpose::eval);
  r.step = *arbitrary<std::uint64_t>();
  r.round = *arbitrary<std::uint32_t>();
  r.producer = *arbitrary<std::uint32_t>();
  const int groups = *rc::gen::inRange(0, 5);
  for (int g = 0; g < groups; ++g) {
    GroupReport& group = r.groups.emplace_back();
    group.id = any_id();
    group.level = *arbitrary<std::int32_t>();
    const int n = *rc::gen::inRange(0, 4);
    for (int i = 0; i < n; ++i) group.rewards.push_back(any_double());
    group.correct = *arbitrary<std::vector<std::uint8_t>>();
    group.lengths = *arbitrary<std::vector<std::int32_t>>();
    group.answers = *arbitrary<std::vector<std::string>>();
  }
  return r;
}

std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }

bool same(const StepPlan& a, const StepPlan& b) {
  const auto key = [](const GroupPlan& g) {
    return std::tie(g.id, g.level, g.first_sample, g.count);
  };
  const auto& s = a.sampling;
  const auto& t = b.sampling;
  return std::tie(a.purpose, a.split, a.step, a.round, a.policy) ==
             std::tie(b.purpose, b.split, b.step, b.round, b.policy) &&
         bits(s.temperature) == bits(t.temperature) && bits(s.top_p) == bits(t.top_p) &&
         std::tie(s.top_k, s.max_new_tokens, s.stop) ==
             std::tie(t.top_k, t.max_new_tokens, t.stop) &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [&](auto& x, auto& y) { return key(x) == key(y); });
}

bool same(const GroupReport& a, const GroupReport& b) {
  return std::tie(a.id, a.level, a.correct, a.lengths, a.answers) ==
             std::tie(b.id, b.level, b.correct, b.lengths, b.answers) &&
         std::equal(a.rewards.begin(), a.rewards.end(), b.rewards.begin(), b.rewards.end(),
                    [](double x, double y) { return bits(x) == bits(y); });
}

bool same(const StepReport& a, const StepReport& b) {
  return std::tie(a.purpose, a.step, a.round, a.producer) ==
             std::tie(b.purpose, b.step, b.round, b.producer) &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [](auto& x, auto& y) { return same(x, y); });
}

RC_GTEST_PROP(Serialize, PlansComeBack, ()) {
  const StepPlan plan = any_plan();
  RC_ASSERT(same(from_bytes<StepPlan>(to_bytes(plan)), plan));
}

RC_GTEST_PROP(Serialize, ReportsComeBack, ()) {
  const StepReport report = any_report();
  RC_ASSERT(same(from_bytes<StepReport>(to_bytes(report)), report));
}

RC_GTEST_PROP(Serialize, TruncatedOrLengthenedBytesAreRefused, ()) {
  const std::string bytes = to_bytes(any_plan());
  const auto keep = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT_THROWS_AS(from_bytes<StepPlan>(bytes.substr(0, keep)), ProtocolError);
  RC_ASSERT_THROWS_AS(from_bytes<StepPlan>(bytes + "x"), ProtocolError);
}

TEST(Serialize, RefusalSaysWhatToCheck) {
  try {
    from_bytes<StepReport>("");
    FAIL() << "read";
  } catch (const ProtocolError& e) {
    EXPECT_NE(std::string(e.what()).find("(ranks must run the same binary); check"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace rollcall
