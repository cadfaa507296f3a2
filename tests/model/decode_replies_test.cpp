// What follows a turn: whenever replies come, and with any threads and memory, each sequence and
// each branch has the same tokens and bits, and others advance while one waits.
#include "base/errors/error.hpp"
#include "model/decode/decode.hpp"
#include "model/sessions.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <utility>

namespace rollcall::model::testing {
namespace {

using Place = std::pair<std::size_t, std::uint32_t>;

/// Replies that are a function of a sequence's place and of how much it has sampled. Each of the
/// first `unforked` samples of a request makes at most one branch, whose number is its own plus
/// `unforked`. `timing`: 0: every reply comes at once; else some come late, in any order.
class Scripted final : public Replies {
 public:
  Scripted(const ModelConfig& config, std::span<const DecodeRequest> requests, std::uint64_t script,
           std::uint64_t timing)
      : config_(config), requests_(requests), script_(script), timing_(timing) {}

  std::optional<Reply> after(const SequencePlace& place, const DecodedSequence& so_far,
                             std::size_t turn) override {
    const std::size_t sampled = so_far.tokens.size();
    expect(turn < sampled, "a turn has a token");
    const Place at(place.request, place.sample);
    const DecodeRequest& request = requests_[place.request];
    const RandomStream stream(script_, RandomPurpose::test, place.request, place.sample, sampled);
    Reply reply{.over = sampled >= 12 || stream.below(0, 4) == 0};
    if (!reply.over) reply = {.over = false, .said = said(stream, 1), .most = most(stream, 3)};
    if (place.sample < request.unforked && place.sample + request.unforked < request.count &&
        (sampled >= 3 || stream.below(5, 2) == 0) && branched_.insert(at).second) {
      reply.branches.push_back({.sample = place.sample + request.unforked,
                                .sampled = std::size_t(stream.below(6, sampled + 1)),
                                .said = said(stream, 7),
                                .most = most(stream, 9)});
    }
    if (timing_ == 0 || chance(3) == 0) return reply;
    late_.push_back({place, reply});
    return std::nullopt;
  }

  std::vector<Late> late(bool) override {
    std::vector<Late> come;
    for (std::uint64_t count = chance(3); count > 0 && !late_.empty(); --count) {
      std::swap(late_[chance(late_.size())], late_.back());
      come.push_back(late_.back());
      late_.pop_back();
    }
    return come;
  }

 private:
  Tokens said(const RandomStream& stream, std::uint64_t index) const {
    const std::int64_t length =
        std::array<std::int64_t, 5>{0, 1, 2, 30, 70}[stream.below(index, 5)];
    return length == 0 ? Tokens() : random_prompt(config_, length, stream.bits(index + 1));
  }
  static std::int64_t most(const RandomStream& stream, std::uint64_t index) {
    return std::array<std::int64_t, 3>{1, 4, 9}[stream.below(index, 3)];
  }
  std::uint64_t chance(std::uint64_t of) {
    return RandomStream(timing_, RandomPurpose::test, 9).below(asked_++, of);
  }

  const ModelConfig& config_;
  std::span<const DecodeRequest> requests_;
  std::uint64_t script_, timing_, asked_ = 0;
  std::set<Place> branched_;
  std::vector<Late> late_;
};

struct Decoding {
  std::uint64_t timing = 0;
  int threads = 1;
  std::int64_t cache_bytes = kMostCacheBytes;
};

std::vector<std::vector<DecodedSequence>> decoded(const PolicyModel& policy,
                                                  std::span<const DecodeRequest> requests,
                                                  double temperature, std::uint64_t script,
                                                  const Decoding& how) {
  std::atomic<std::size_t> ended = 0, sessions = 0;
  const StopRules fifth = [] {
    return [shown = 0](std::span<const std::int32_t>) mutable { return ++shown == 5; };
  };
  const auto results =
      decode(policy, requests, {.temperature = temperature, .max_new_tokens = 20}, fifth,
             {.threads = how.threads,
              .cache_bytes = how.cache_bytes,
              .ended = [&] { ++ended; },
              .replies =
                  [&] {
                    const std::uint64_t timing = how.timing == 0 ? 0 : how.timing + ++sessions;
                    return std::make_unique<Scripted>(policy.config(), requests, script, timing);
                  }});
  std::size_t made = 0;
  for (const auto& request : results)
    made += std::size_t(std::count_if(request.begin(), request.end(), [](const auto& sequence) {
      return !sequence.tokens.empty();
    }));
  EXPECT_EQ(ended.load(), made);
  return results;
}

/// How many samples that only branches can be were made.
std::size_t branches(std::span<const DecodeRequest> requests,
                     const std::vector<std::vector<DecodedSequence>>& results) {
  std::size_t made = 0;
  for (std::size_t r = 0; r < requests.size(); ++r)
    for (std::size_t s = requests[r].unforked; requests[r].unforked > 0 && s < requests[r].count;
         ++s)
      made += results[r][s].tokens.empty() ? 0U : 1U;
  return made;
}

void expect_equal(const std::vector<std::vector<DecodedSequence>>& seen,
                  const std::vector<std::vector<DecodedSequence>>& expected) {
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t r = 0; r < seen.size(); ++r) {
    ASSERT_EQ(seen[r].size(), expected[r].size());
    for (std::size_t s = 0; s < seen[r].size(); ++s) {
      EXPECT_EQ(seen[r][s].tokens, expected[r][s].tokens) << r << ' ' << s;
      EXPECT_EQ(seen[r][s].columns.logprob, expected[r][s].columns.logprob) << r << ' ' << s;
      EXPECT_EQ(seen[r][s].columns.entropy, expected[r][s].columns.entropy) << r << ' ' << s;
      EXPECT_EQ(seen[r][s].stopped, expected[r][s].stopped) << r << ' ' << s;
    }
  }
}

/// Requests of 1 to `most` samples. Every second one has branches.
std::vector<DecodeRequest> some_requests(const ModelConfig& config, std::size_t count,
                                         std::uint32_t most, std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 8);
  std::vector<DecodeRequest> requests;
  for (std::size_t r = 0; r < count; ++r) {
    const std::int64_t length = std::array<std::int64_t, 4>{1, 64, 70, 150}[stream.below(4 * r, 4)];
    const auto samples = std::uint32_t(1 + stream.below(4 * r + 1, most));
    requests.push_back({.prompt = random_prompt(config, length, stream.below(4 * r + 2, 3)),
                        .seed = 11,
                        .prompt_address = r,
                        .first_sample = std::uint32_t(r),
                        .count = samples,
                        .most = std::int64_t(1 + stream.below(4 * r + 3, 8)),
                        .unforked = r % 2 == 0 ? 0 : (samples + 1) / 2});
  }
  return requests;
}

TEST(DecodeReplies, WhenTheyComeAndWhoDecodesChangesNothing) {
  const ModelConfig config = long_config();
  std::size_t made = 0;
  const bool ok = rc::check([&] {
    const PolicyModel policy(
        config, random_weights(config, 4), {},
        kernel_sets(*rc::gen::element(kernels::kFp32FixedOrder, kernels::kBf16Sliced8)).back());
    const double temperature = *rc::gen::element(0.0, 0.05, 1.0);
    // From one sequence in a session up to a full one.
    const auto requests =
        some_requests(config, *rc::gen::inRange<std::size_t>(1, 8),
                      *rc::gen::element<std::uint32_t>(1, 4, 20), *rc::gen::inRange(0U, 1000U));
    const std::uint64_t script = *rc::gen::inRange(0U, 1000U);
    const auto calm = decoded(policy, requests, temperature, script, {});
    made += branches(requests, calm);
    const Decoding how{
        .timing = *rc::gen::element<std::uint64_t>(0, 1'000'000, 2'000'000),
        .threads = *rc::gen::element(1, 2, 7),
        .cache_bytes = *rc::gen::element<std::int64_t>(1, 30, 200, 100'000) * page_bytes(policy)};
    expect_equal(decoded(policy, requests, temperature, script, how), calm);
    RC_ASSERT(!::testing::Test::HasFailure());
  });
  EXPECT_TRUE(ok);
  EXPECT_GT(made, 10U);
}

/// A model whose threads share one session, which opens all samples at once.
TEST(DecodeReplies, ThreadsThatShareASessionChangeNothing) {
  ModelConfig config = long_config();
  config.hidden_size = 256, config.intermediate_size = 700, config.head_dim = 48,
  config.vocab_size = 3000;
  const PolicyModel policy(config, random_weights(config, 4), {});
  ASSERT_EQ(decode_shape(std::int64_t(policy.packed().panels.size()), 3).sessions, 1);
  auto requests = some_requests(config, 3, 1, 17);
  for (DecodeRequest& request : requests) {
    request.count = 4;
    request.unforked = 2;
    request.most = 5;
  }
  const auto calm = decoded(policy, requests, 1.0, 5, {});
  EXPECT_GT(branches(requests, calm), 0U);
  for (const int threads : {2, 7})
    expect_equal(
        decoded(policy, requests, 1.0, 5,
                {.timing = 40, .threads = threads, .cache_bytes = 20 * page_bytes(policy)}),
        calm);
}

/// Without replies, and with replies that end each sequence, the results are the same.
TEST(DecodeReplies, OneTurnIsTheSimplestCase) {
  struct Over final : Replies {
    std::optional<Reply> after(const SequencePlace&, const DecodedSequence&, std::size_t) override {
      return Reply{};
    }
    std::vector<Late> late(bool) override { return {}; }
  };
  const ModelConfig config = long_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  auto requests = some_requests(config, 5, 9, 3);
  for (DecodeRequest& request : requests) request.unforked = 0;
  const SamplingParams sampling{.max_new_tokens = 20};
  expect_equal(decode(policy, requests, sampling, {},
                      {.threads = 2, .replies = [] { return std::make_unique<Over>(); }}),
               decode(policy, requests, sampling, {}, {.threads = 2}));
}

/// Answers nobody before it is waited for, and counts.
struct Patient final : Replies {
  explicit Patient(std::size_t& most_pending) : most(most_pending) {}
  std::optional<Reply> after(const SequencePlace& place, const DecodedSequence&,
                             std::size_t) override {
    pending.push_back({place, Reply{}});
    most = std::max(most, pending.size());
    return std::nullopt;
  }
  std::vector<Late> late(bool waits) override {
    return waits ? std::exchange(pending, {}) : std::vector<Late>();
  }
  std::vector<Late> pending;
  std::size_t& most;
};

/// A session goes on with others while some wait, up to four times its live rows.
TEST(DecodeReplies, OthersAdvanceWhileSomeWait) {
  const ModelConfig config = long_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  std::size_t most = 0;
  const DecodeRequest request{.prompt = {1, 2, 3}, .count = 600, .most = 1};
  const auto results = decode(policy, std::span(&request, 1), {.max_new_tokens = 9}, {},
                              {.replies = [&] { return std::make_unique<Patient>(most); }})
                           .front();
  EXPECT_EQ(most, 4U * 64U);
  for (const DecodedSequence& sequence : results) EXPECT_EQ(sequence.tokens.size(), 1U);
}

/// A call that is given up while all sequences wait returns, and leaves them empty.
TEST(DecodeReplies, WhatIsGivenUpIsLeftEmpty) {
  struct Never final : Replies {
    explicit Never(std::atomic<bool>& waited_for) : waited(waited_for) {}
    std::optional<Reply> after(const SequencePlace&, const DecodedSequence&, std::size_t) override {
      return std::nullopt;
    }
    std::vector<Late> late(bool waits) override {
      if (waits) waited = true;
      return {};
    }
    std::atomic<bool>& waited;
  };
  const ModelConfig config = long_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  const DecodeRequest request{.prompt = {1, 2, 3}, .count = 4};
  std::atomic<bool> waited = false;
  const auto results = decode(policy, std::span(&request, 1), {.max_new_tokens = 9}, {},
                              {.given_up = [&] { return waited.load(); },
                               .replies = [&] { return std::make_unique<Never>(waited); }})
                           .front();
  ASSERT_EQ(results.size(), 4U);
  for (const DecodedSequence& sequence : results) EXPECT_TRUE(sequence.tokens.empty());
}

/// Replies that no session could follow are faults of the caller.
TEST(DecodeReplies, ABranchHasANumberOfItsOwn) {
  struct Branching final : Replies {
    explicit Branching(std::vector<Branch> wanted) : branches(std::move(wanted)) {}
    std::optional<Reply> after(const SequencePlace&, const DecodedSequence&, std::size_t) override {
      return Reply{.branches = branches};
    }
    std::vector<Late> late(bool) override { return {}; }
    std::vector<Branch> branches;
  };
  const ModelConfig config = long_config();
  const PolicyModel policy(config, random_weights(config, 4), {});
  const auto run = [&](std::uint32_t unforked, const std::vector<Branch>& branches) {
    const DecodeRequest request{.prompt = {1, 2, 3}, .count = 2, .unforked = unforked};
    return decode(policy, std::span(&request, 1), {.max_new_tokens = 4}, {},
                  {.replies = [&] { return std::make_unique<Branching>(branches); }})
        .front();
  };
  EXPECT_TRUE(run(1, {}).back().tokens.empty());
  EXPECT_THROW(run(0, {{.sample = 1}}), std::logic_error);  // it is opened itself
  EXPECT_THROW(run(1, {{.sample = 0}}), std::logic_error);  // another has it
  EXPECT_THROW(run(1, {{.sample = 2}}), std::logic_error);  // the request has two
  EXPECT_THROW(run(1, {{.sample = 1}, {.sample = 1}}), std::logic_error);
}

}  // namespace
}  // namespace rollcall::model::testing
