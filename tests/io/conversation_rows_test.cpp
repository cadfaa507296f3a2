// What a conversation leaves in files: its hash, the first difference of two, and fragments that
// contradict each other. Runs without conversations keep the hash that they had.
#include "io/conversation_rows.hpp"

#include "io/canonical.hpp"
#include "io/difference.hpp"
#include "io/sample_run.hpp"
#include "io/source.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace rollcall::io::test {
namespace {

/// One rollout of two turns, without anything that schema *.8 added.
ArchivedGroup plain() {
  Rollout rollout{.sample = 4,
                  .finish = FinishReason::length,
                  .turns = {Turn{.role = Role::prompt, .tokens = {1, 2}},
                            Turn{.role = Role::policy,
                                 .tokens = {3},
                                 .columns = {.logprob = {-0.5F}, .entropy = {0.25F}},
                                 .policy_version = {7}}},
                  .text = "t"};
  return {.purpose = Purpose::train,
          .step = 3,
          .group = {.id = {3, {5}, 1}, .level = -2, .rollouts = {std::move(rollout)}},
          .prompt = {.text = "p", .answer = "a"},
          .scores = {{.components = {1.0}, .reward = 0.5, .correct = true, .answer = "x"}},
          .temperature = 0.75F};
}

/// The same group as a hint's, with a conversation.
ArchivedGroup told() {
  ArchivedGroup g = plain();
  g.group.from = {.kind = DerivedKind::hint,
                  .parent = {3, {5}, 0},
                  .parent_sample = Derivation::kWholeGroup,
                  .tier = 2,
                  .placement = Placement::replaces_parent};
  g.group.start = "s";
  Rollout& rollout = g.group.rollouts[0];
  rollout.opening = 6, rollout.parent = 2, rollout.fork_token = 0;
  rollout.facts = {TurnFacts{}, TurnFacts{.reward = 0.125,
                                          .components = {1.0, -2.0},
                                          .state = ~std::uint64_t{0},
                                          .action = 9,
                                          .flags = turn_flag::decided | turn_flag::correct,
                                          .kind = 3,
                                          .seat = 1,
                                          .reason = "why"}};
  return g;
}

std::string hash(const ArchivedGroup& group) { return group_digest(group, {"correct"}); }

// Both hashes were computed apart from this program, of the bytes that docs/reference/archive.md
// lists.
TEST(ConversationRows, AGroupWithoutAnyKeepsItsHash) {
  EXPECT_EQ(hash(plain()), "8ae32b67b23a8baa554ec3dbe010115f9be7c70461c2239586775e8f68eaa1e8");
  for (const DerivedKind kind : {DerivedKind::verdict, DerivedKind::reflection}) {
    ArchivedGroup judged = plain();
    judged.group.from = {.kind = kind, .parent = {2, {1}, 0}, .parent_sample = 4};
    EXPECT_EQ(hash(judged), hash(plain())) << "earlier builds did not store what it was made of";
  }
  EXPECT_EQ(hash(told()), "661aa692f78acb3503bc7450304c17f7765bd57a428525f34733f215889ccada");
}

TEST(ConversationRows, EveryValueIsInTheHashAndIsNamedWhereItDiffers) {
  using Change = std::function<void(Group&)>;
  const auto facts = [](auto change) {
    return [change](Group& g) { change(g.rollouts[0].facts[1]); };
  };
  const std::vector<std::pair<std::string, Change>> changes{
      {"kind is 3 and 4", [](Group& g) { g.from.kind = DerivedKind::refinement; }},
      {"parent step is 3 and 2", [](Group& g) { g.from.parent.step = 2; }},
      {"parent prompt is 5 and 6", [](Group& g) { g.from.parent.prompt = {6}; }},
      {"parent draw is 0 and 1", [](Group& g) { g.from.parent.draw = 1; }},
      {"parent sample is 4294967295 and 0", [](Group& g) { g.from.parent_sample = 0; }},
      {"tier is 2 and 1", [](Group& g) { g.from.tier = 1; }},
      {"placement is 2 and 0", [](Group& g) { g.from.placement = Placement::own_group; }},
      {"start is \"s\" and \"\"", [](Group& g) { g.start.clear(); }},
      {"opening is 6 and 0", [](Group& g) { g.rollouts[0].opening = 0; }},
      {"parent is 2 and -1", [](Group& g) { g.rollouts[0].parent = -1; }},
      {"fork_token is 0 and 1", [](Group& g) { g.rollouts[0].fork_token = 1; }},
      {"number of turns with facts is 2 and 0", [](Group& g) { g.rollouts[0].facts.clear(); }},
      {"turn 1: reward is 0.125 and 0", facts([](TurnFacts& f) { f.reward = 0; })},
      {"turn 1: components[1] is -2 and 2", facts([](TurnFacts& f) { f.components[1] = 2; })},
      {"turn 1: state is 18446744073709551615 and 0", facts([](TurnFacts& f) { f.state = 0; })},
      {"turn 1: action is 9 and 8", facts([](TurnFacts& f) { f.action = 8; })},
      {"turn 1: flags is 96 and 32", facts([](TurnFacts& f) { f.flags = turn_flag::decided; })},
      {"turn 1: kind is 3 and 0", facts([](TurnFacts& f) { f.kind = 0; })},
      {"turn 1: seat is 1 and 2", facts([](TurnFacts& f) { f.seat = 2; })}};
  for (const auto& [words, change] : changes) {
    ArchivedGroup other = told();
    change(other.group);
    EXPECT_NE(hash(other), hash(told())) << words;
    const std::string said = first_difference(told(), other);
    EXPECT_TRUE(said.ends_with(words)) << said << ", not " << words;
  }
  ArchivedGroup same = told();
  same.group.rollouts[0].facts[1].reason = "another way to say it";
  same.group.rollouts[0].facts[1].flags |= turn_flag::moved;
  EXPECT_EQ(hash(same), hash(told())) << "neither is what was sampled";
}

/// Loose shards are joined by values, a pack joins columns: both compare what a group came of.
TEST(ConversationRows, FragmentsOfOneGroupHaveOneOriginAndOneStart) {
  const std::vector<std::function<void(Group&)>> changes{[](Group& g) { g.from.tier += 1; },
                                                         [](Group& g) { g.from.parent.step += 1; },
                                                         [](Group& g) { g.start += "!"; }};
  for (const auto& change : changes) {
    const RunFolder run;
    const Sample first = sample(1, 1, 2);
    Sample second = sample(1, 1, 2, 1);
    change(second.shard.groups[1]);
    const std::vector<PackInput> inputs{write(run, first), write(run, second)};
    EXPECT_NE(fault_of([&] { archive_sha256(run); }).find("differ in prompt, level"),
              std::string::npos);
    EXPECT_NE(fault_of([&] {
                pack(*comm::alone(), run, "x", inputs, identity());
              }).find("differs between fragments"),
              std::string::npos);
  }
}

TEST(ConversationRows, AFileNamesItsEnvironment) {
  RunIdentity played = identity();
  played.environment = R"({"name":"key_door","components":["größe"]})";
  for (const RunIdentity& who : {identity(), played}) {
    const RunFolder run;
    const PackInput input = write(run, sample(1, 3, 2), who);
    EXPECT_EQ(identity_of(run, input.shard).environment, who.environment);
    EXPECT_EQ(identity_of(run, pack(*comm::alone(), run, "train", {input}, who).file).environment,
              who.environment);
  }
}

}  // namespace
}  // namespace rollcall::io::test
