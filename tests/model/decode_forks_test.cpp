// Forks and turns with limits of their own: a fork has the bits of a sequence that said the same
// from its beginning, and nothing that is known is computed again.
#include "base/errors/error.hpp"
#include "model/decode/decode.hpp"
#include "model/sessions.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <utility>

namespace rollcall::model::testing {
namespace {

constexpr std::size_t kTurn = 20, kWhole = 60;  ///< sampled tokens of a turn, of a conversation

/// Ends a turn by its own count of the tokens that it was shown.
StopRule twentieth() {
  return
      [shown = std::size_t(0)](std::span<const std::int32_t>) mutable { return ++shown == kTurn; };
}

ModelConfig endless_config() {
  ModelConfig config = long_config();
  config.eos_token_ids = {};
  return config;
}

DecodeRequest request_of(const ModelConfig& config) {
  return {.prompt = random_prompt(config, 70, 1),
          .seed = 3,
          .step = 2,
          .prompt_address = 5,
          .first_sample = 4,
          .most = 30};
}

/// What others say after so many sampled tokens of a conversation.
Tokens said_after(const ModelConfig& config, std::size_t sampled) {
  return random_prompt(config, std::int64_t(2 * sampled), sampled);
}

/// The sampled tokens after which a conversation is forked: before all, within each turn, at ends.
constexpr std::array<std::size_t, 7> kPlaces{0, 1, 7, 20, 21, 40, 59};

struct Shape {
  std::int64_t pages = 10'000, rows = DecodeSession::kLiveRows;
  int threads = 1;
  bool early = false;  ///< forks are made while others advance, not one after the other
};

/// A conversation and, for each place, a fork with the conversation's own number and one with
/// another.
std::vector<DecodedSequence> talked(const PolicyModel& policy, const SamplingParams& sampling,
                                    const Shape& shape) {
  const ModelConfig& config = policy.config();
  std::vector<DecodedSequence> results;
  Team team(shape.threads);
  team.lead(on_new_threads, [&] {
    DecodeSession session(policy, sampling, team, shape.pages * page_bytes(policy), shape.rows);
    const Id first = session.open(request_of(config), 0, 1, twentieth);
    std::map<std::size_t, Id> forks;
    const RandomStream chance(7, RandomPurpose::test, 1);
    for (std::uint64_t step = 0; !session.idle() || forks.size() < 2 * kPlaces.size(); ++step) {
      ASSERT_LT(step, 20'000U);
      for (std::size_t f = 0; f < 2 * kPlaces.size(); ++f) {
        const std::size_t place = kPlaces[f / 2];
        if (forks.contains(f) || session.at(first).tokens.size() < place ||
            (shape.early ? chance.below(100 * step + f, 2) == 0 : !session.idle()))
          continue;
        const bool ends = place > 0 && place % kTurn == 0;
        forks[f] = session.fork(first, place, f % 2 == 0 ? 0 : 1 + std::uint32_t(f),
                                ends ? said_after(config, place) : Tokens(), 30);
        EXPECT_EQ(session.turn(forks[f]), place / kTurn * kTurn);
      }
      if (session.idle()) continue;
      for (const Id id : session.advance(policy))
        if (const std::size_t sampled = session.at(id).tokens.size(); sampled < kWhole)
          session.append(id, said_after(config, sampled), 30);
    }
    results.push_back(session.take(first));
    for (const auto& [f, id] : forks) results.push_back(session.take(id));
    EXPECT_EQ(session.cache_bytes(), 0);
  });
  return results;
}

void expect_same(const DecodedSequence& seen, const DecodedSequence& expected) {
  EXPECT_EQ(seen.tokens, expected.tokens);
  EXPECT_EQ(seen.columns.logprob, expected.columns.logprob);
  EXPECT_EQ(seen.columns.entropy, expected.columns.entropy);
  EXPECT_EQ(seen.versions, expected.versions);
  EXPECT_EQ(seen.kept_mass, expected.kept_mass);
  EXPECT_EQ(seen.kept, expected.kept);
  EXPECT_EQ(seen.stopped, expected.stopped);
}

/// What training says of a conversation.
Columns rescored(const PolicyModel& policy, const DecodedSequence& talk, double temperature) {
  MicroBatch micro_batch{
      .tokens = request_of(policy.config()).prompt, .offsets = {0}, .kept = talk.kept};
  for (std::size_t t = 0; t < talk.tokens.size(); ++t) {
    const Tokens said = t % kTurn == 0 ? said_after(policy.config(), t) : Tokens();
    micro_batch.tokens.insert(micro_batch.tokens.end(), said.begin(), said.end());
    micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()));
    micro_batch.tokens.push_back(talk.tokens[t]);
  }
  micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
  return forward(policy, micro_batch, temperature);
}

TEST(DecodeForks, AForkHasTheBitsOfOneThatSaidTheSameFromItsBeginning) {
  const ModelConfig config = endless_config();
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8})
    for (const double temperature : {0.0, 0.05, 1.0}) {
      const PolicyModel policy(config, random_weights(config, 4), PolicyVersion{3},
                               kernel_sets(numerics).back());
      const SamplingParams sampling{
          .temperature = temperature, .top_p = 0.9, .max_new_tokens = 100, .logprob = "kept"};
      const auto calm = talked(policy, sampling, {});
      ASSERT_EQ(calm.size(), 1 + 2 * kPlaces.size());
      for (std::size_t i = 0; i < calm.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(calm[i].tokens.size(),
                  kWhole);  // a turn that was forked ends where it would have
        if (i % 2 == 1) expect_same(calm[i], calm[0]);  // the same random numbers
        const Columns columns = rescored(policy, calm[i], temperature);
        EXPECT_EQ(columns.logprob, calm[i].columns.logprob);
        EXPECT_EQ(columns.entropy, calm[i].columns.entropy);
        if (i > 0 && i % 2 == 0 && temperature == 1.0 && kPlaces[i / 2 - 1] < 50) {
          EXPECT_NE(calm[i].tokens, calm[0].tokens);
        }
      }
      for (const Shape& shape :
           {Shape{.early = true}, Shape{.pages = 1}, Shape{.pages = 1, .rows = 1, .early = true},
            Shape{.pages = 9, .rows = 3, .threads = 3, .early = true}}) {
        SCOPED_TRACE(shape.pages);
        const auto seen = talked(policy, sampling, shape);
        ASSERT_EQ(seen.size(), calm.size());
        for (std::size_t i = 0; i < calm.size(); ++i) expect_same(seen[i], calm[i]);
      }
    }
}

/// From sequences that wait, advance, are paused and have ended.
TEST(DecodeForks, AForkBeforeAllThatIsSampledIsAnOpeningWithTheLongerPrompt) {
  const ModelConfig config = endless_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  for (const std::int64_t pages : {1, 1000})
    for (const double temperature : {0.0, 0.2, 1.0})
      for (const std::int64_t length : {0, 1, 58, 200}) {
        const SamplingParams sampling{.temperature = temperature, .max_new_tokens = 100};
        const Tokens said = random_prompt(config, length, 9);
        DecodeRequest longer = request_of(config);
        longer.prompt.insert(longer.prompt.end(), said.begin(), said.end());
        longer.first_sample += 8;
        longer.most = 12;
        const DecodedSequence alone =
            decode(policy, std::span(&longer, 1), sampling, {}).front().front();
        EXPECT_EQ(alone.tokens.size(), 12U);
        Team team;
        DecodeSession session(policy, sampling, team, pages * page_bytes(policy));
        const Id first = session.open(request_of(config), 0, 1, twentieth);
        std::vector<Id> forks{session.fork(first, 0, 8, said, 12)};
        for (int step = 0; step < 3; ++step) session.advance(policy);
        forks.push_back(session.fork(first, 0, 8, said, 12));
        session.pause(first);
        forks.push_back(session.fork(first, 0, 8, said, 12));
        run_out(session, policy);
        session.resume(first);
        run_out(session, policy);
        forks.push_back(session.fork(first, 0, 8, said, 12));
        run_out(session, policy);
        for (const Id fork : forks) expect_same(session.take(fork), alone);
        session.take(first);
        EXPECT_EQ(session.cache_bytes(), 0);
      }
}

/// A fork behind the end of a turn, where nobody says anything, begins a new one.
TEST(DecodeForks, BehindTheEndOfATurnAForkBeginsANewOne) {
  const ModelConfig config = endless_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 100}, team, kMostCacheBytes);
  const Id first = session.open(request_of(config), 0, 1, twentieth);
  run_out(session, policy);
  const Id ended = session.fork(first, kTurn, 0, {}, 30);
  session.append(first, {}, 30);
  const Id later = session.fork(first, kTurn, 0, {}, 30);
  run_out(session, policy);
  EXPECT_EQ(session.at(first).tokens.size(), 2 * kTurn);
  for (const Id fork : {ended, later}) {
    EXPECT_EQ(session.turn(fork), kTurn);
    expect_same(session.at(fork), session.at(first));
  }
}

TEST(DecodeForks, ATurnHasTheLimitThatItWasGiven) {
  const ModelConfig config = endless_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 10}, team, kMostCacheBytes);
  const Id id = session.open({.prompt = {1, 2, 3}, .count = 1, .most = 3}, 0, 1, {});
  std::size_t sampled = 3;
  for (const std::size_t most : {1U, 7U, 40U}) {  // more than the first turn may, too
    run_out(session, policy);
    EXPECT_EQ(session.at(id).tokens.size(), sampled);
    EXPECT_FALSE(session.at(id).stopped);
    session.append(id, Tokens{4, 5}, std::int64_t(most));
    EXPECT_EQ(session.turn(id), sampled);
    sampled += most;
  }
  run_out(session, policy);
  EXPECT_EQ(session.at(id).tokens.size(), sampled);
  EXPECT_THROW(session.append(id, Tokens{4}, 0), std::logic_error);
  EXPECT_THROW(session.append(id, Tokens{4}, config.max_position_embeddings), std::logic_error);
  EXPECT_THROW(session.append(id, Tokens{300}, 1), std::logic_error);  // not in the vocabulary
  EXPECT_THROW(session.fork(id, sampled + 1, 1, {}, 1), std::logic_error);
  EXPECT_THROW(session.fork(id, 1, 1, {}, config.max_position_embeddings), std::logic_error);
  const std::int64_t last = config.max_position_embeddings - 3;
  EXPECT_NO_THROW(session.open({.prompt = {1, 2, 3}, .most = last}, 0, 1, {}));
  EXPECT_THROW(session.open({.prompt = {1, 2, 3}, .most = last + 1}, 0, 1, {}), InputError);
}

/// Where there is room, a second turn computes what was said and sampled, and no more.
TEST(DecodeForks, ASecondTurnComputesItsNewTokensAlone) {
  const ModelConfig config = endless_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 100}, team, kMostCacheBytes);
  for (std::uint64_t talk = 0; talk < 8; ++talk)
    session.open({.prompt = random_prompt(config, 700, talk), .prompt_address = talk, .most = 20},
                 0, 1, {});
  run_out(session, policy);
  EXPECT_EQ(session.computed_tokens(), 8 * (700 + 19));  // the last token is not computed yet
  const std::int64_t before = session.computed_tokens();
  for (Id talk = 0; talk < 8; ++talk) session.append(talk, random_prompt(config, 30, talk), 20);
  run_out(session, policy);
  const std::int64_t computed = session.computed_tokens() - before, fresh = 8 * (30 + 20);
  EXPECT_LE(100 * computed, 102 * fresh);
  EXPECT_GE(computed, fresh - 8);
  // Branches from within the first turn compute their own tokens, and the one they part at.
  const std::int64_t unforked = session.computed_tokens();
  for (Id talk = 0; talk < 8; ++talk) session.fork(talk, 10, 1, {}, 20);
  run_out(session, policy);
  EXPECT_EQ(session.computed_tokens() - unforked, 8 * 20);
}

/// A paused sequence gives up its pages before one that waits for others' words.
TEST(DecodeForks, PausedSequencesMakeRoomFirst) {
  const ModelConfig config = endless_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 20}, team, 4 * page_bytes(policy));
  const auto open = [&](std::uint64_t which) {
    return session.open({.prompt = random_prompt(config, 100, which), .prompt_address = which}, 0,
                        1, {});
  };
  const Id ended = open(1);
  run_out(session, policy);
  const Id paused = open(2);
  for (int step = 0; step < 5; ++step) session.advance(policy);
  session.pause(paused);
  open(3);
  run_out(session, policy);
  const std::int64_t before = session.computed_tokens();
  session.append(ended, random_prompt(config, 3, 4), 1);
  run_out(session, policy);
  EXPECT_EQ(session.computed_tokens() - before, 4);  // its last token, and what was said
}

}  // namespace
}  // namespace rollcall::model::testing
