// Sessions: whatever is open together, paused, continued or short of memory, each sequence gets the tokens and bits it gets alone, and training repeats them.
#include "model/decode_session.hpp"
#include "base/error.hpp"
#include "model/decode.hpp"
#include "model/packed_policy.hpp"
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

using Id = DecodeSession::Id;
using Tokens = std::vector<std::int32_t>;

/// Room for prompts of several pages and several pieces; a vocabulary in which sequences seldom end by themselves.
ModelConfig long_config() {
  ModelConfig config = small_config(Family::qwen3);
  config.max_position_embeddings = 2048;
  config.vocab_size = 300;
  return config;
}

Tokens random_prompt(const ModelConfig& config, std::int64_t length, std::uint64_t seed) { return random_leaf(config, {length}, seed).tokens; }

std::int64_t page_bytes(const Policy& policy) { return policy.config().num_hidden_layers * page_shape(policy.packed()).bytes(); }

/// Columns of `sampled` in [their context, them], as training computes them.
Columns rescored(const Policy& policy, const Tokens& all, const std::vector<std::int64_t>& sampled) {
  return forward(policy, {.tokens = all, .offsets = {0, std::int64_t(all.size())}, .targets = sampled}, 1.0);
}

void run_out(DecodeSession& session, const Policy& policy) {
  while (!session.idle()) session.advance(policy);
}

TEST(DecodeSession, NothingDependsOnCompanyMemoryThreadsOrPauses) {
  const ModelConfig config = long_config();
  EXPECT_TRUE(rc::check([&] {
    const auto sets = kernel_sets(*rc::gen::element(kernels::kFp32FixedOrder, kernels::kBf16Sliced8));
    const Policy policy(config, random_weights(config, 4), {}, sets.back());
    const SamplingParams sampling{.max_new_tokens = *rc::gen::inRange(1, 90)};
    const auto groups = *rc::gen::inRange<std::size_t>(1, 5);
    std::vector<DecodeRequest> requests;
    std::vector<std::vector<DecodedSequence>> alone;
    for (std::size_t g = 0; g < groups; ++g) {
      // Some groups have equal prompts; some prompts fill pages, some more than one piece.
      const auto length = *rc::gen::element<std::int64_t>(1, 5, 63, 64, 65, 128, 150, 700);
      requests.push_back(
          {.prompt = random_prompt(config, length, *rc::gen::inRange(1, 3)), .seed = 7, .prompt_address = g, .count = *rc::gen::inRange(0U, 6U)});
      alone.push_back(decode(policy, std::span(&requests.back(), 1), sampling, {})[0]);
    }
    const std::int64_t bytes = *rc::gen::element<std::int64_t>(1, 3, 8, 20, 1000) * page_bytes(policy), live = *rc::gen::inRange(1, 9);
    const auto chance = *rc::gen::arbitrary<std::uint64_t>();
    std::int64_t longest = 0;
    Team team(*rc::gen::inRange(1, 4));
    team.lead(on_new_threads, [&] {
      DecodeSession session(policy, sampling, team, bytes, live);
      std::map<Id, const DecodedSequence*> expected;
      for (std::size_t g = 0; g < groups; ++g) {
        const auto prompt = std::int64_t(requests[g].prompt.size());
        longest = std::max(longest, kernels::pages_of(prompt) + kernels::pages_of(prompt + sampling.max_new_tokens));
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
          RC_ASSERT(session.at(id).logprob == expected[id]->logprob);
          RC_ASSERT(session.at(id).entropy == expected[id]->entropy);
          RC_ASSERT(session.at(id).stopped == expected[id]->stopped);
          if (stream.below(5 * step, 2) == 0) session.take(id);
          done.insert(id);
        }
        RC_ASSERT(session.cache_bytes() <= std::max(bytes, longest * page_bytes(policy)));
        RC_ASSERT(session.advancing() <= live);
        const Id any = stream.below(5 * step + 1, expected.size());
        if (stream.below(5 * step + 2, 4) == 0 && !done.contains(any) && paused.insert(any).second) session.pause(any);
        if (!paused.empty() && (session.idle() || stream.below(5 * step + 3, 3) == 0)) session.resume(*paused.begin()), paused.erase(paused.begin());
        RC_ASSERT(step < 20'000U);
      }
    });
  }));
}

/// What others say after a turn of a sequence: of its number and the turn alone. Now and then nothing more is said.
Tokens said(const ModelConfig& config, Id id, std::size_t turn) {
  const RandomStream stream(id, RandomPurpose::test, turn);
  if (stream.below(0, 4) == 0) return {};
  const std::int64_t length = std::array<std::int64_t, 5>{1, 2, 63, 130, 300}[stream.below(1, 5)];
  return random_prompt(config, length, 100 * id + turn);
}

/// Conversations: every turn is some tokens long, then others speak.
TEST(DecodeSession, ConversationsDoNotDependOnCompanyMemoryThreadsOrPauses) {
  const ModelConfig config = long_config();
  EXPECT_TRUE(rc::check([&] {
    const Policy policy(config, random_weights(config, 4), {}, kernel_sets(*rc::gen::element(kernels::kFp32FixedOrder, kernels::kBf16Sliced8)).back());
    const SamplingParams sampling{.max_new_tokens = 60};
    const auto turn_length = *rc::gen::inRange<std::size_t>(1, 30);
    const StopRules stops = [&] { return [&](std::span<const std::int32_t> tokens) { return tokens.size() == turn_length; }; };
    std::vector<DecodeRequest> requests(*rc::gen::inRange<std::size_t>(1, 6));
    for (std::size_t g = 0; g < requests.size(); ++g)
      requests[g] = {.prompt = random_prompt(config, *rc::gen::element<std::int64_t>(1, 64, 150, 700, 700), *rc::gen::inRange(1, 6)),
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
          for (Id id = first; id < first + request.count; ++id) turns[id] = 0, known[id] = request.prompt.size() + 60;
        }
        const std::size_t all = turns.size();
        const RandomStream stream(chance, RandomPurpose::test, 0);
        std::set<Id> paused;
        for (std::uint64_t step = 0; results.size() < all; ++step) {
          for (const Id id : session.advance(policy)) {
            const DecodedSequence& now = session.at(id);
            Tokens others = said(config, id, ++turns[id]);
            if (now.tokens.size() == 60 || config.ends(now.tokens.back()) || known[id] + others.size() > 2048) others.clear();
            known[id] += others.size();
            others.empty() ? void(results[id] = session.take(id)) : session.append(id, others);
          }
          RC_ASSERT(step < 5'000U);  // it goes on
          if (!disturbed) continue;
          const Id any = stream.below(3 * step, all);
          if (stream.below(3 * step + 1, 4) == 0 && !results.contains(any) && paused.insert(any).second) session.pause(any);
          if (!paused.empty() && (session.idle() || stream.below(3 * step + 2, 3) == 0)) session.resume(*paused.begin()), paused.erase(paused.begin());
        }
        RC_ASSERT(session.cache_bytes() == 0);
      });
      return results;
    };
    const auto calm = talk(1, kMostCacheBytes, DecodeSession::kLiveRows, false);
    const std::int64_t bytes = *rc::gen::element<std::int64_t>(1, 12, 30, 60, 1000) * page_bytes(policy), live = *rc::gen::inRange(1, 16);
    const auto disturbed = talk(*rc::gen::inRange(1, 4), bytes, live, *rc::gen::arbitrary<bool>());
    for (const auto& [id, expected] : calm) {
      const DecodedSequence& seen = disturbed.at(id);
      RC_ASSERT(seen.tokens == expected.tokens);
      RC_ASSERT(seen.logprob == expected.logprob);
      RC_ASSERT(seen.entropy == expected.entropy);
      RC_ASSERT(seen.stopped == expected.stopped);
    }
  }));
}

/// Prompts that do not fit side by side do not drive one another out.
TEST(DecodeSession, LargePromptsTakeTurns) {
  const ModelConfig config = long_config();
  const Policy policy(config, random_weights(config, 4), {});
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 5}, team, page_bytes(policy));
  for (std::uint64_t g = 0; g < 5; ++g) session.open({.prompt = random_prompt(config, 1900, g), .prompt_address = g, .count = 2}, 0, 2, {});
  for (int step = 0; !session.idle(); ++step) {
    session.advance(policy);
    ASSERT_LT(step, 500);
  }
}

TEST(DecodeSession, GoesOnBehindOthersTokensAndTrainingRepeatsIt) {
  const ModelConfig config = long_config();
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8})
    for (const std::int64_t cache_pages : {1, 1000}) {  // with no room to spare, all is computed again at each turn
      const Policy policy(config, random_weights(config, 4), {}, kernel_sets(numerics).back());
      const SamplingParams sampling{.max_new_tokens = 60};
      const DecodeRequest request{.prompt = random_prompt(config, 70, 1), .seed = 3, .count = 3};
      Team team;
      DecodeSession session(policy, sampling, team, cache_pages * page_bytes(policy));
      // A turn is 20 tokens; between turns the environment says as many as the turn's number times 40.
      const Id first = session.open(request, 0, 3, [] { return [](std::span<const std::int32_t> tokens) { return tokens.size() % 20 == 0; }; });
      std::map<Id, Tokens> all;
      std::map<Id, std::vector<std::int64_t>> sampled;
      std::map<Id, std::size_t> heard;
      for (Id id = first; id < first + 3; ++id) all[id] = request.prompt;
      while (!session.idle()) {
        for (const Id id : session.advance(policy)) {
          const DecodedSequence& now = session.at(id);
          for (; heard[id] < now.tokens.size(); ++heard[id]) sampled[id].push_back(std::int64_t(all[id].size())), all[id].push_back(now.tokens[heard[id]]);
          if (now.tokens.size() >= 60 || config.ends(now.tokens.back())) continue;
          const Tokens said = random_prompt(config, std::int64_t(2 * now.tokens.size()), now.tokens.size());
          all[id].insert(all[id].end(), said.begin(), said.end());
          session.append(id, said);
        }
      }
      for (auto& [id, tokens] : all) {
        const DecodedSequence result = session.take(id);
        EXPECT_EQ(result.tokens.size(), sampled[id].size());
        EXPECT_EQ(rescored(policy, tokens, sampled[id]).logprob, result.logprob) << numerics;
        EXPECT_EQ(rescored(policy, tokens, sampled[id]).entropy, result.entropy) << numerics;
      }
      EXPECT_EQ(session.cache_bytes(), 0);
    }
}

TEST(DecodeSession, AChangeOfWeightsLeavesEachLogProbToOneVersion) {
  const ModelConfig config = long_config();
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
    const kernels::KernelSet* set = kernel_sets(numerics).back();
    const Policy before(config, random_weights(config, 4), PolicyVersion{1}, set), after(config, random_weights(config, 5), PolicyVersion{2}, set);
    for (const std::int64_t rows : {4, 2}) {  // all advance, or they take turns and some have not drawn yet
      Team team;
      DecodeSession session(before, {.max_new_tokens = 40}, team, kMostCacheBytes, rows);
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
        for (const std::int32_t token : result.tokens) targets.push_back(std::int64_t(all.size())), all.push_back(token);
        const Columns old_columns = rescored(before, all, targets), new_columns = rescored(after, all, targets);
        EXPECT_EQ(result.versions.front(), rows == 4 || id < first + 3 ? 1U : 2U) << numerics;  // with two rows: two, and one more while the first is paused
        EXPECT_EQ(result.versions.back(), 2U) << numerics;
        for (std::size_t t = 0; t < result.tokens.size(); ++t)
          EXPECT_EQ(result.logprob[t], (result.versions[t] == 1 ? old_columns : new_columns).logprob[t]) << numerics << ' ' << id << ' ' << t;
      }
    }
  }
}

/// A model large enough that every operation is shared out.
TEST(DecodeSession, TheNumberOfThreadsInsideAnOperationChangesNothing) {
  ModelConfig config = long_config();
  config.hidden_size = 256, config.intermediate_size = 700, config.head_dim = 48, config.vocab_size = 3000;
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
    const Policy policy(config, random_weights(config, 4), {}, kernel_sets(numerics).back());
    const SamplingParams sampling{.top_p = 0.9, .max_new_tokens = 10};
    std::vector<DecodeRequest> requests;
    for (const std::uint32_t count : {1U, 9U, 20U})
      requests.push_back({.prompt = random_prompt(config, 40 * count, count), .prompt_address = count, .count = count});
    std::vector<std::vector<DecodedSequence>> results;
    for (const int size : {1, 2, 3, 5}) {
      Team team(size);
      team.lead(on_new_threads, [&] {
        DecodeSession session(policy, sampling, team, kMostCacheBytes);
        for (const auto& request : requests) session.open(request, 0, request.count, {});
        run_out(session, policy);
        results.emplace_back();
        for (Id id = 0; id < 30; ++id) results.back().push_back(session.take(id));
        for (Id id = 0; id < 30; ++id) EXPECT_EQ(results.back()[id].logprob, results.front()[id].logprob) << numerics << ' ' << size << ' ' << id;
      });
    }
  }
}

/// Pages follow length, a group holds its prompt's whole pages once, and nothing is held at the end.
TEST(DecodeSession, MemoryIsLinearInLengthAndPromptsAreHeldOnce) {
  ModelConfig config = long_config();
  config.max_position_embeddings = 8192;
  const Policy policy(config, random_weights(config, 4), {});
  const std::int64_t page = page_bytes(policy);
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 200}, team, 10'000 * page);
  const StopRules never = [] { return [](std::span<const std::int32_t>) { return false; }; };
  const Id first = session.open({.prompt = random_prompt(config, 8192 - 200, 1), .count = 8}, 0, 8, never);
  while (session.advancing() < 8) session.advance(policy);
  EXPECT_EQ(session.cache_bytes(), (124 + 8) * page);  // 7,992 positions: 124 whole pages, and each sequence's own that begins at 56
  run_out(session, policy);
  for (Id id = first; id < first + 8; ++id) session.take(id);
  EXPECT_EQ(session.cache_bytes(), 0);
}

/// Heavy-tailed lengths that nobody knows: with room for all, rows stay busy until the last sequences end; with room for the rows alone, the last that begins
/// may be a long one.
TEST(DecodeSession, TurnsKeepRowsBusyToTheEnd) {
  ModelConfig config = long_config();
  config.eos_token_ids = {};
  const Policy policy(config, random_weights(config, 4), {});
  const std::vector<std::size_t> lengths{20, 400, 35, 90, 400, 12, 60, 25, 150, 30, 18, 400, 45, 22, 70, 400, 15, 28, 110, 400};
  const std::size_t total = std::accumulate(lengths.begin(), lengths.end(), std::size_t(0));
  const auto steps = [&](std::int64_t pages) {
    Team team;
    DecodeSession session(policy, {.max_new_tokens = 400}, team, pages * page_bytes(policy), 4);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      session.open({.prompt = {1, 2, 3}, .prompt_address = i, .count = 1}, 0, 1,
                   [length = lengths[i]] { return [length](std::span<const std::int32_t> tokens) { return tokens.size() == length; }; });
    std::size_t count = 0;
    for (; !session.idle(); ++count) session.advance(policy);
    return count;
  };
  EXPECT_LE(100 * steps(1000), 103 * total / 4);
  EXPECT_GE(100 * steps(4 * 7 + 1), 120 * total / 4);
}

/// What prompts have in common is run once: their tokens are neither run nor held again, and nothing else changes.
TEST(DecodeSession, CommonBeginningsAreRunAndHeldOnce) {
  const ModelConfig config = long_config();
  const Policy policy(config, random_weights(config, 4), {});
  const SamplingParams sampling{.max_new_tokens = 8};
  const StopRules never = [] { return [](std::span<const std::int32_t>) { return false; }; };
  std::vector<DecodeRequest> requests;
  for (std::uint64_t g = 0; g < 6; ++g) {
    Tokens prompt = random_prompt(config, 640, 1);
    const Tokens own = random_prompt(config, 10, 2 + g);
    prompt.insert(prompt.end(), own.begin(), own.end());
    requests.push_back({.prompt = prompt, .seed = 7, .prompt_address = g, .count = 2});
  }
  Team team;
  DecodeSession session(policy, sampling, team, 1000 * page_bytes(policy));
  for (const DecodeRequest& request : requests) session.open(request, 0, 2, never);
  int steps = 0;
  for (; session.advancing() < 12; ++steps) session.advance(policy);
  EXPECT_EQ(steps, 4);  // two for the first prompt, 650 tokens in pieces of 512; one for the others' ends; they begin with the next. Alone all take 3,900 / 512
  EXPECT_EQ(session.cache_bytes(), (10 + 12) * page_bytes(policy));
  run_out(session, policy);
  for (Id id = 0; id < 12; ++id) {
    const DecodedSequence alone = decode(policy, std::span(&requests[id / 2], 1), sampling, never)[0][id % 2];
    const DecodedSequence beside = session.take(id);
    EXPECT_EQ(beside.tokens, alone.tokens);
    EXPECT_EQ(beside.logprob, alone.logprob);
  }
  EXPECT_EQ(session.cache_bytes(), 0);
}

TEST(DecodeSession, WrongUseIsNamed) {
  const ModelConfig config = small_config(Family::llama);
  const Policy policy(config, random_weights(config, 3), {});
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 30}, team, kMostCacheBytes);
  const Id id = session.open({.prompt = {1, 2, 3}, .count = 1}, 0, 1, [turn = std::make_shared<unsigned>(0)] {
    return [end = ++*turn == 1 ? 2U : 99U](std::span<const std::int32_t> tokens) { return tokens.size() == end; };
  });
  run_out(session, policy);
  EXPECT_THROW(session.append(id, Tokens(40, 2)), InputError);  // past the last position
  session.append(id, Tokens{2});
  run_out(session, policy);
  EXPECT_THROW(session.append(id, Tokens{2}), InputError);  // nothing left to sample
}

}  // namespace
}  // namespace rollcall::model::testing
