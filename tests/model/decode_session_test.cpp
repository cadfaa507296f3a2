// Sessions: whatever is open together, paused, continued or short of memory, each sequence gets the
// tokens and bits it gets alone, and training repeats them.
#include "base/errors/error.hpp"
#include "model/decode/decode.hpp"
#include "model/engine/packed_policy.hpp"
#include "model/sessions.hpp"
#include "model/small_models.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

namespace rollcall::model::testing {
namespace {

/// Columns of `sampled` in [their context, them], as training computes them.
Columns rescored(const PolicyModel& policy, const Tokens& all,
                 const std::vector<std::int64_t>& sampled, double temperature) {
  return forward(policy,
                 {.tokens = all, .offsets = {0, std::int64_t(all.size())}, .targets = sampled},
                 temperature);
}

/// At 0 all samples of a prompt are the same, at 1 they part at once.
rc::Gen<double> any_temperature() { return rc::gen::element(0.0, 0.01, 0.05, 0.2, 1.0); }

TEST(DecodeSession, NothingDependsOnCompanyMemoryThreadsOrPauses) {
  const ModelConfig config = long_config();
  EXPECT_TRUE(rc::check([&] {
    const auto sets =
        kernel_sets(*rc::gen::element(kernels::kFp32FixedOrder, kernels::kBf16Sliced8));
    const PolicyModel policy(config, random_weights(config, 4), {}, sets.back());
    const SamplingParams sampling{.temperature = *any_temperature(),
                                  .max_new_tokens = *rc::gen::inRange(1, 90)};
    const auto groups = *rc::gen::inRange<std::size_t>(1, 5);
    std::vector<DecodeRequest> requests;
    std::vector<std::vector<DecodedSequence>> alone;
    for (std::size_t g = 0; g < groups; ++g) {
      // Some groups have equal prompts; some prompts fill pages, some more than one piece.
      const auto length = *rc::gen::element<std::int64_t>(1, 5, 63, 64, 65, 128, 150, 700);
      requests.push_back({.prompt = random_prompt(config, length, *rc::gen::inRange(1, 3)),
                          .seed = 7,
                          .prompt_address = g,
                          .count = *rc::gen::inRange(0U, 6U)});
      alone.emplace_back();
      for (std::uint32_t sample = 0; sample < requests.back().count; ++sample) {
        DecodeRequest one = requests.back();
        one.first_sample = sample, one.count = 1;
        alone.back().push_back(decode(policy, std::span(&one, 1), sampling, {})[0][0]);
      }
    }
    const std::int64_t bytes =
                           *rc::gen::element<std::int64_t>(1, 3, 8, 20, 1000) * page_bytes(policy),
                       live = *rc::gen::inRange(1, 9);
    const auto chance = *rc::gen::arbitrary<std::uint64_t>();
    std::int64_t longest = 0;
    Team team(*rc::gen::inRange(1, 4));
    team.lead(on_new_threads, [&] {
      DecodeSession session(policy, sampling, team, bytes, live);
      std::map<Id, const DecodedSequence*> expected;
      for (std::size_t g = 0; g < groups; ++g) {
        const auto prompt = std::int64_t(requests[g].prompt.size());
        longest = std::max(longest, kernels::pages_of(prompt) +
                                        kernels::pages_of(prompt + sampling.max_new_tokens));
        const Id first = session.open(requests[g], 0, requests[g].count, {});
        for (std::uint32_t i = 0; i < requests[g].count; ++i) expected[first + i] = &alone[g][i];
      }
      const RandomStream stream(chance, RandomPurpose::test, 0);
      std::set<Id> paused, done;
      std::map<Id, std::size_t> sampled;
      for (std::uint64_t step = 0; done.size() < expected.size(); ++step) {
        const std::vector<Id> ended = session.advance(policy);
        std::int64_t advanced = 0;
        for (const auto& [id, whole] : expected) {
          if (done.contains(id)) continue;
          const std::size_t before = std::exchange(sampled[id], session.at(id).tokens.size());
          RC_ASSERT(sampled[id] - before <= 1U);
          advanced += std::int64_t(sampled[id] - before);
        }
        RC_ASSERT(advanced <= live);
        for (const Id id : ended) {
          RC_ASSERT(session.at(id).tokens == expected[id]->tokens);
          RC_ASSERT(session.at(id).columns.logprob == expected[id]->columns.logprob);
          RC_ASSERT(session.at(id).columns.entropy == expected[id]->columns.entropy);
          RC_ASSERT(session.at(id).stopped == expected[id]->stopped);
          if (stream.below(5 * step, 2) == 0) session.take(id);
          done.insert(id);
        }
        RC_ASSERT(session.cache_bytes() <= std::max(bytes, longest * page_bytes(policy)));
        RC_ASSERT(session.advancing() <= live);
        const Id any = stream.below(5 * step + 1, expected.size());
        if (stream.below(5 * step + 2, 4) == 0 && !done.contains(any) && paused.insert(any).second)
          session.pause(any);
        if (!paused.empty() && (session.idle() || stream.below(5 * step + 3, 3) == 0))
          session.resume(*paused.begin()), paused.erase(paused.begin());
        RC_ASSERT(step < 20'000U);
      }
    });
  }));
}

/// What others say after a turn of a sequence: to two the same, of their number and the turn alone.
/// Now and then nothing more is said.
Tokens said(const ModelConfig& config, Id id, std::size_t turn) {
  id /= 2;
  const RandomStream stream(id, RandomPurpose::test, turn);
  if (stream.below(0, 4) == 0) return {};
  const std::int64_t length = std::array<std::int64_t, 5>{1, 2, 63, 130, 300}[stream.below(1, 5)];
  return random_prompt(config, length, 100 * id + turn);
}

/// Conversations: every turn is some tokens long, then others speak.
TEST(DecodeSession, ConversationsDoNotDependOnCompanyMemoryThreadsOrPauses) {
  const ModelConfig config = long_config();
  EXPECT_TRUE(rc::check([&] {
    const PolicyModel policy(
        config, random_weights(config, 4), {},
        kernel_sets(*rc::gen::element(kernels::kFp32FixedOrder, kernels::kBf16Sliced8)).back());
    const SamplingParams sampling{.temperature = *any_temperature(), .max_new_tokens = 60};
    const auto turn_length = *rc::gen::inRange<std::size_t>(1, 30);
    const StopRules stops = [&] {
      return [&](std::span<const std::int32_t> tokens) { return tokens.size() == turn_length; };
    };
    std::vector<DecodeRequest> requests(*rc::gen::inRange<std::size_t>(1, 6));
    for (std::size_t g = 0; g < requests.size(); ++g)
      requests[g] = {
          .prompt = random_prompt(config, *rc::gen::element<std::int64_t>(1, 64, 150, 700, 700),
                                  *rc::gen::inRange(1, 6)),
          .prompt_address = g,
          .count = *rc::gen::inRange(1U, 4U)};
    const auto chance = *rc::gen::arbitrary<std::uint64_t>();
    const auto talk = [&](int threads, std::int64_t bytes, std::int64_t live, bool disturbed) {
      std::map<Id, DecodedSequence> results;
      Team team(threads);
      team.lead(on_new_threads, [&] {
        DecodeSession session(policy, sampling, team, bytes, live);
        std::map<Id, std::size_t> turns, known;
        for (const DecodeRequest& request : requests) {
          const Id first = session.open(request, 0, request.count, stops);
          for (Id id = first; id < first + request.count; ++id)
            turns[id] = 0, known[id] = request.prompt.size() + 60;
        }
        const std::size_t all = turns.size();
        const RandomStream stream(chance, RandomPurpose::test, 0);
        std::set<Id> paused;
        for (std::uint64_t step = 0; results.size() < all; ++step) {
          for (const Id id : session.advance(policy)) {
            const DecodedSequence& now = session.at(id);
            Tokens others = said(config, id, ++turns[id]);
            if (now.tokens.size() == 60 || is_end_token(config, now.tokens.back()) ||
                known[id] + others.size() > 2048)
              others.clear();
            known[id] += others.size();
            others.empty() ? void(results[id] = session.take(id)) : session.append(id, others);
          }
          RC_ASSERT(step < 5'000U);  // it goes on
          if (!disturbed) continue;
          const Id any = stream.below(3 * step, all);
          if (stream.below(3 * step + 1, 4) == 0 && !results.contains(any) &&
              paused.insert(any).second)
            session.pause(any);
          if (!paused.empty() && (session.idle() || stream.below(3 * step + 2, 3) == 0))
            session.resume(*paused.begin()), paused.erase(paused.begin());
        }
        RC_ASSERT(session.cache_bytes() == 0);
      });
      return results;
    };
    const auto calm = talk(1, kMostCacheBytes, DecodeSession::kLiveRows, false);
    const std::int64_t bytes = *rc::gen::element<std::int64_t>(1, 12, 30, 60, 1000) *
                               page_bytes(policy),
                       live = *rc::gen::inRange(1, 16);
    const auto disturbed = talk(*rc::gen::inRange(1, 4), bytes, live, *rc::gen::arbitrary<bool>());
    for (const auto& [id, expected] : calm) {
      const DecodedSequence& seen = disturbed.at(id);
      RC_ASSERT(seen.tokens == expected.tokens);
      RC_ASSERT(seen.columns.logprob == expected.columns.logprob);
      RC_ASSERT(seen.columns.entropy == expected.columns.entropy);
      RC_ASSERT(seen.stopped == expected.stopped);
    }
  }));
}

/// Prompts that do not fit side by side do not drive one another out.
TEST(DecodeSession, LargePromptsTakeTurns) {
  const ModelConfig config = long_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 5}, team, page_bytes(policy));
  for (std::uint64_t g = 0; g < 5; ++g)
    session.open({.prompt = random_prompt(config, 1900, g), .prompt_address = g, .count = 2}, 0, 2,
                 {});
  for (int step = 0; !session.idle(); ++step) {
    session.advance(policy);
    ASSERT_LT(step, 500);
  }
}

TEST(DecodeSession, GoesOnBehindOthersTokensAndTrainingRepeatsIt) {
  const ModelConfig config = long_config();
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8})
    for (const auto& [cache_pages, temperature] : std::vector<std::pair<std::int64_t, double>>{
             {1, 1.0}, {1000, 1.0}, {1, 0.0}, {1000, 0.05}}) {
      // With no room to spare, all is computed again at each turn; at 0 the three stay one.
      const PolicyModel policy(config, random_weights(config, 4), {}, kernel_sets(numerics).back());
      const SamplingParams sampling{.temperature = temperature, .max_new_tokens = 60};
      const DecodeRequest request{.prompt = random_prompt(config, 70, 1), .seed = 3, .count = 3};
      Team team;
      DecodeSession session(policy, sampling, team, cache_pages * page_bytes(policy));
      // A turn is 20 tokens; between turns the environment says as many as the turn's number times
      // 40.
      const Id first = session.open(request, 0, 3, [] {
        return [](std::span<const std::int32_t> tokens) { return tokens.size() % 20 == 0; };
      });
      std::map<Id, Tokens> all;
      std::map<Id, std::vector<std::int64_t>> sampled;
      std::map<Id, std::size_t> heard;
      for (Id id = first; id < first + 3; ++id) all[id] = request.prompt;
      while (!session.idle()) {
        for (const Id id : session.advance(policy)) {
          const DecodedSequence& now = session.at(id);
          for (; heard[id] < now.tokens.size(); ++heard[id])
            sampled[id].push_back(std::int64_t(all[id].size())),
                all[id].push_back(now.tokens[heard[id]]);
          if (now.tokens.size() >= 60 || is_end_token(config, now.tokens.back())) continue;
          const Tokens said =
              random_prompt(config, std::int64_t(2 * now.tokens.size()), now.tokens.size());
          all[id].insert(all[id].end(), said.begin(), said.end());
          session.append(id, said);
        }
      }
      for (auto& [id, tokens] : all) {
        const DecodedSequence result = session.take(id);
        EXPECT_EQ(result.tokens.size(), sampled[id].size());
        const Columns again = rescored(policy, tokens, sampled[id], temperature);
        EXPECT_EQ(again.logprob, result.columns.logprob) << numerics << ' ' << temperature;
        EXPECT_EQ(again.entropy, result.columns.entropy) << numerics << ' ' << temperature;
      }
      EXPECT_EQ(session.cache_bytes(), 0);
    }
}

TEST(DecodeSession, AChangeOfWeightsLeavesEachLogProbToOneVersion) {
  const ModelConfig config = long_config();
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
    const kernels::KernelSet* set = kernel_sets(numerics).back();
    const PolicyModel before(config, random_weights(config, 4), PolicyVersion{1}, set),
        after(config, random_weights(config, 5), PolicyVersion{2}, set);
    for (const auto& [rows, temperature] : std::vector<std::pair<std::int64_t, double>>{
             {4, 1.0}, {2, 1.0}, {4, 0.0}, {2, 0.0}, {4, 0.05}}) {
      // All advance, or they take turns and some have not drawn yet; at 0 they are one, or two.
      Team team;
      DecodeSession session(before, {.temperature = temperature, .max_new_tokens = 40}, team,
                            kMostCacheBytes, rows);
      const DecodeRequest request{.prompt = random_prompt(config, 100, 1), .seed = 3, .count = 4};
      const Id first = session.open(request, 0, 4, {});
      for (int step = 0; step < 12; ++step) session.advance(before);
      session.pause(first);
      for (int step = 0; step < 5; ++step) session.advance(before);
      session.resume(first);
      run_out(session, after);
      for (Id id = first; id < first + 4; ++id) {
        const DecodedSequence result = session.take(id);
        Tokens all = request.prompt;
        std::vector<std::int64_t> targets;
        for (const std::int32_t token : result.tokens)
          targets.push_back(std::int64_t(all.size())), all.push_back(token);
        const Columns old_columns = rescored(before, all, targets, temperature),
                      new_columns = rescored(after, all, targets, temperature);
        // with two rows: two, and one more while the first is paused
        EXPECT_EQ(result.versions.front(), rows == 4 || id < first + 3 ? 1U : 2U) << numerics;
        EXPECT_EQ(result.versions.back(), 2U) << numerics;
        for (std::size_t t = 0; t < result.tokens.size(); ++t)
          EXPECT_EQ(result.columns.logprob[t],
                    (result.versions[t] == 1 ? old_columns : new_columns).logprob[t])
              << numerics << ' ' << id << ' ' << t;
      }
    }
  }
}

/// A model large enough that every operation is shared out.
TEST(DecodeSession, TheNumberOfThreadsInsideAnOperationChangesNothing) {
  ModelConfig config = long_config();
  config.hidden_size = 256, config.intermediate_size = 700, config.head_dim = 48,
  config.vocab_size = 3000;
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
    const PolicyModel policy(config, random_weights(config, 4), {}, kernel_sets(numerics).back());
    const SamplingParams sampling{.top_p = 0.9, .max_new_tokens = 10};
    std::vector<DecodeRequest> requests;
    for (const std::uint32_t count : {1U, 9U, 20U})
      requests.push_back({.prompt = random_prompt(config, 40 * count, count),
                          .prompt_address = count,
                          .count = count});
    std::vector<std::vector<DecodedSequence>> results;
    for (const int size : {1, 2, 3, 5}) {
      Team team(size);
      team.lead(on_new_threads, [&] {
        DecodeSession session(policy, sampling, team, kMostCacheBytes);
        for (const auto& request : requests) session.open(request, 0, request.count, {});
        run_out(session, policy);
        results.emplace_back();
        for (Id id = 0; id < 30; ++id) results.back().push_back(session.take(id));
        for (Id id = 0; id < 30; ++id)
          EXPECT_EQ(results.back()[id].columns.logprob, results.front()[id].columns.logprob)
              << numerics << ' ' << size << ' ' << id;
      });
    }
  }
}

/// Heavy-tailed lengths that nobody knows: with room for all, rows stay busy until the last
/// sequences end; with room for the rows alone, the last that begins may be a long one.
TEST(DecodeSession, TurnsKeepRowsBusyToTheEnd) {
  ModelConfig config = long_config();
  config.eos_token_ids = {};
  const PolicyModel policy(config, random_weights(config, 4), {});
  const std::vector<std::size_t> lengths{20, 400, 35, 90, 400, 12,  60, 25, 150, 30,
                                         18, 400, 45, 22, 70,  400, 15, 28, 110, 400};
  const std::size_t total = std::accumulate(lengths.begin(), lengths.end(), std::size_t(0));
  const auto steps = [&](std::int64_t pages) {
    Team team;
    DecodeSession session(policy, {.max_new_tokens = 400}, team, pages * page_bytes(policy), 4);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      session.open(
          {.prompt = {1, 2, 3}, .prompt_address = i, .count = 1}, 0, 1, [length = lengths[i]] {
            return
                [length](std::span<const std::int32_t> tokens) { return tokens.size() == length; };
          });
    std::size_t count = 0;
    for (; !session.idle(); ++count) session.advance(policy);
    return count;
  };
  EXPECT_LE(100 * steps(1000), 103 * total / 4);
  EXPECT_GE(100 * steps(4 * 7 + 1), 120 * total / 4);
}

TEST(DecodeSession, WrongUseIsNamed) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 3), {});
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 30}, team, kMostCacheBytes);
  const Id id =
      session.open({.prompt = {1, 2, 3}, .count = 1}, 0, 1, [turn = std::make_shared<unsigned>(0)] {
        return [end = ++*turn == 1 ? 2U : 99U](std::span<const std::int32_t> tokens) {
          return tokens.size() == end;
        };
      });
  run_out(session, policy);
  EXPECT_THROW(session.append(id, Tokens(40, 2)), InputError);  // past the last position
  session.append(id, Tokens{2});
  run_out(session, policy);
  EXPECT_THROW(session.append(id, Tokens{2}), InputError);  // nothing left to sample
}

}  // namespace
}  // namespace rollcall::model::testing
