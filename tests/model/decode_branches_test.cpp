// What sequences of a session begin with alike is run and held once: prompts, what prompts begin
// with, and answers until they part.
#include "model/decode/decode.hpp"
#include "model/sessions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace rollcall::model::testing {
namespace {

/// Pages follow length, a group holds its prompt's whole pages once, and nothing is held at the
/// end.
TEST(DecodeBranches, MemoryIsLinearInLengthAndPromptsAreHeldOnce) {
  ModelConfig config = long_config();
  config.max_position_embeddings = 8192;
  const PolicyModel policy(config, random_weights(config, 4), {});
  const std::int64_t page = page_bytes(policy);
  Team team;
  DecodeSession session(policy, {.max_new_tokens = 200}, team, 10'000 * page);
  const StopRules never = [] { return [](std::span<const std::int32_t>) { return false; }; };
  const Id first =
      session.open({.prompt = random_prompt(config, 8192 - 200, 1), .count = 8}, 0, 8, never);
  while (session.advancing() < 8) session.advance(policy);
  EXPECT_EQ(session.cache_bytes(), 125 * page);  // 7,992 positions, none of which a sequence has
                                                 // gone on from
  session.advance(policy);
  std::set<std::int32_t> parted;
  for (Id id = first; id < first + 8; ++id) parted.insert(session.at(id).tokens.front());
  EXPECT_GT(parted.size(), 4U);
  // 124 whole pages, and the one that begins at 56 for each first token
  EXPECT_EQ(session.cache_bytes(), (124 + std::int64_t(parted.size())) * page);
  run_out(session, policy);
  for (Id id = first; id < first + 8; ++id) session.take(id);
  EXPECT_EQ(session.cache_bytes(), 0);
}

/// What prompts have in common is run once: their tokens are neither run nor held again, and
/// nothing else changes.
TEST(DecodeBranches, CommonBeginningsAreRunAndHeldOnce) {
  const ModelConfig config = long_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
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
  EXPECT_EQ(steps, 4);  // two for the first prompt, 650 tokens in pieces of 512; one for the
                        // others' ends; they begin with the next. Alone all take 3,900 / 512
  std::set<std::pair<Id, Tokens>> runs;  // tokens that have been run: all but the last
  for (Id id = 0; id < 12; ++id) {
    const Tokens& drawn = session.at(id).tokens;
    runs.emplace(id / 2, Tokens(drawn.begin(), drawn.end() - 1));
  }
  EXPECT_EQ(session.cache_bytes(), (10 + std::int64_t(runs.size())) * page_bytes(policy));
  run_out(session, policy);
  for (Id id = 0; id < 12; ++id) {
    const DecodedSequence alone =
        decode(policy, std::span(&requests[id / 2], 1), sampling, never)[0][id % 2];
    const DecodedSequence beside = session.take(id);
    EXPECT_EQ(beside.tokens, alone.tokens);
    EXPECT_EQ(beside.columns.logprob, alone.columns.logprob);
  }
  EXPECT_EQ(session.cache_bytes(), 0);
}

/// After every step: one page for each part of 64 positions that stands in sequences, however many
/// have the same tokens up to its end.
TEST(DecodeBranches, WhoDrawsTheSameIsRunAndHeldOnce) {
  ModelConfig config = long_config();
  config.eos_token_ids = {};
  for (const double temperature : {0.0, 0.02}) {
    const PolicyModel policy(config, random_weights(config, 4), {});
    Team team;
    DecodeSession session(policy, {.temperature = temperature, .max_new_tokens = 100}, team,
                          kMostCacheBytes);
    const StopRules never = [] { return [](std::span<const std::int32_t>) { return false; }; };
    const DecodeRequest request{.prompt = random_prompt(config, 100, 1), .seed = 3, .count = 8};
    const Id first = session.open(request, 0, 8, never);
    std::size_t most = 0, shared_long = 0;
    session.advance(policy);  // the prompt
    for (int step = 0; step < 99; ++step) {
      session.advance(policy);
      std::set<Tokens> pages, runs;  // by all tokens up to their end
      for (Id id = first; id < first + 8; ++id) {
        Tokens all = request.prompt;
        const Tokens& drawn = session.at(id).tokens;
        all.insert(all.end(), drawn.begin(), drawn.end() - 1);  // the last is not run yet
        runs.insert(all);
        for (std::size_t end = 64; end < all.size() + 64; end += 64)
          pages.emplace(all.begin(), all.begin() + std::ptrdiff_t(std::min(end, all.size())));
      }
      ASSERT_EQ(session.cache_bytes(), std::int64_t(pages.size()) * page_bytes(policy)) << step;
      most = std::max(most, runs.size());
      shared_long += runs.size() < 8 ? 1 : 0;
    }
    EXPECT_EQ(most > 2U, temperature > 0.0) << most;
    EXPECT_GT(shared_long, 10U);
  }
}

/// Of sequences that draw the same tokens some end and some go on, in memory that has room for one
/// and more.
TEST(DecodeBranches, WhoEndsLeavesTheOthersAlone) {
  ModelConfig config = long_config();
  config.eos_token_ids = {};
  const PolicyModel policy(config, random_weights(config, 4), {});
  for (const double temperature : {0.0, 0.02, 0.05, 0.2})
    for (const std::int64_t pages : {1, 3, 1000})
      for (const auto& [rows, lengths] :
           std::vector<std::pair<std::int64_t, std::array<std::size_t, 3>>>{
               {2, {50, 50, 50}}, {2, {1, 70, 100}}, {8, {1, 70, 100}}})
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
          const SamplingParams sampling{.temperature = temperature,
                                        .max_new_tokens = std::int64_t(lengths[2])};
          const DecodeRequest request{
              .prompt = random_prompt(config, 3, 1), .seed = seed, .count = 6};
          const std::vector<DecodedSequence> whole =
              decode(policy, std::span(&request, 1), sampling, {})[0];
          const auto length = [&, all = lengths](std::size_t sample) { return all[sample % 3]; };
          Team team;
          DecodeSession session(policy, sampling, team, pages * page_bytes(policy), rows);
          const StopRules stops = [&, made = std::size_t(0)]() mutable {
            return [end = length(made++)](std::span<const std::int32_t> tokens) {
              return tokens.size() == end;
            };
          };
          const Id first = session.open(request, 0, 6, stops);
          run_out(session, policy);
          for (std::size_t sample = 0; sample < 6; ++sample) {
            const DecodedSequence result = session.take(first + sample);
            ASSERT_EQ(result.tokens.size(), length(sample));
            for (std::size_t t = 0; t < length(sample); ++t) {
              ASSERT_EQ(result.tokens[t], whole[sample].tokens[t])
                  << temperature << ' ' << pages << ' ' << rows << ' ' << sample << ' ' << t;
              ASSERT_EQ(result.columns.logprob[t], whole[sample].columns.logprob[t])
                  << temperature << ' ' << pages << ' ' << rows << ' ' << sample << ' ' << t;
            }
          }
        }
}

}  // namespace
}  // namespace rollcall::model::testing
