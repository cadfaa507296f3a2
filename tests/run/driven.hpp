// Jobs of the smallest model for tests of the rollout driver, and an environment that follows a
// script.
#pragma once

#include "base/numbers/hash.hpp"
#include "environment/partner.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/conversation.hpp"
#include "run/generation/rollout_driver.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rollcall::run::test {

inline RunContext driven_job(const std::filesystem::path& folder, int threads,
                             const std::vector<std::string>& more) {
  std::vector<std::string> settings{"run.dir=\"" + folder.string() + "\"",
                                    "run.log_level=error",
                                    "task.train_prompts=6",
                                    "task.validation_prompts=2",
                                    "task.heldout_prompts=2",
                                    "task.min_level=2",
                                    "task.max_level=3",
                                    "model.hidden_size=16",
                                    "model.intermediate_size=16",
                                    "model.num_hidden_layers=1",
                                    "model.num_attention_heads=1",
                                    "model.num_key_value_heads=1",
                                    "model.head_dim=16",
                                    "model.max_position_embeddings=256",
                                    "sampling.max_new_tokens=24"};
  settings.insert(settings.end(), more.begin(), more.end());
  RunContext context = make_context(load_run_config({}, settings), {1, threads});
  const auto alone = comm::alone();
  open_policy(context, *alone);
  (void)context.store->publish(PolicyVersion{5}, {alone.get(), {}});
  if (!context.texts.turns)
    context.texts.turns = std::make_shared<text::TurnTexts>(*context.texts.format, "user", "");
  return context;
}

/// Half of the letters and signs end a turn, so that rollouts have several.
inline StepPlan driven_plan(const RunContext& context, std::uint32_t count) {
  StepPlan plan{Purpose::train, Split::train, 9, 0, PolicyVersion{5}, context.config.sampling, {}};
  for (char c = '!'; c <= '~'; ++c)
    if (c % 2 == 0) plan.sampling.stop.emplace_back(1, c);
  for (std::uint64_t prompt = 0; prompt < 3; ++prompt)
    plan.groups.push_back({.id = {9, {prompt}, 0}, .count = count});
  return plan;
}

/// An environment whose answers are a function of the conversation. It answers at once, or from a
/// thread in an order of its own.
class Scripted final : public environment::Partner {
 public:
  /// `timing`: 0: at once; else by which answers are put off.
  explicit Scripted(std::uint64_t timing = 0) : timing_(timing) {
    if (timing > 0) thread_ = std::thread([this] { deliver(); });
  }
  ~Scripted() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    came_.notify_all();
    if (thread_.joinable()) thread_.join();
    EXPECT_TRUE(open.empty()) << "a conversation is still open: " << *open.begin();
  }
  Scripted(const Scripted&) = delete;
  Scripted& operator=(const Scripted&) = delete;

  const environment::Traits& traits() const override {
    static const environment::Traits plain{};
    return plain;
  }
  std::optional<environment::Answer> ask(const environment::Talk& talk, std::uint64_t conversation,
                                         environment::AnswerQueue& queue) override {
    const std::lock_guard lock(mutex_);
    open.insert(talk.id);
    if (on_ask) on_ask(++asked_);
    const std::uint64_t chance = hash(fmt::format("{} {}", timing_, talk.id));
    if (timing_ == 0 || (chance + talk.actions.size()) % 3 == 0) return answer(talk);
    waiting_.push_back({&talk, conversation, &queue});
    came_.notify_all();
    return std::nullopt;
  }
  void close(const environment::Talk& talk) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(open.erase(talk.id), 1U) << talk.id;
    std::erase_if(waiting_, [&](const Waiting& one) { return one.talk == &talk; });
  }

  std::map<std::string, std::pair<std::size_t, environment::Loss>>
      losses{};  ///< by conversation: how it is lost, and after how many actions
  std::function<void(int)> on_ask{};  ///< is told how often it was asked
  std::string begins{};               ///< the first text; empty: it is drawn
  bool keeps_state = false;           ///< after the start
  bool answers = true;                ///< whether what waits is ever answered
  std::set<std::string> open{};

 private:
  struct Waiting {
    const environment::Talk* talk;
    std::uint64_t conversation;
    environment::AnswerQueue* queue;
  };
  static std::uint64_t hash(const std::string& text) { return fact_hash(text); }

  environment::Answer answer(const environment::Talk& talk) const {
    const std::size_t turns = talk.actions.size();
    const auto loss = losses.find(talk.id);
    if (loss != losses.end() && loss->second.first == turns)
      return {.reason = "as the script says", .loss = loss->second.second};
    EXPECT_EQ(talk.said.size(), turns);
    if (turns == 0)
      return {.state = "begun",
              .text = begins.empty() ? fmt::format("{}?", talk.seeds.start % 97) : begins};
    const std::uint64_t drawn =
        hash(fmt::format("{} {} {}", talk.state.value_or("kept"), talk.actions.back(),
                         environment::step_seed(talk.seeds, turns - 1)));
    return {.state = keeps_state ? std::nullopt : std::optional(fmt::format("{}", drawn)),
            .text = fmt::format("{}", drawn % 100),
            .reward = double(drawn % 7),
            .done = drawn % 5 == 0,
            .flags = drawn % 2 == 0 ? turn_flag::invalid : 0};
  }
  void deliver() {
    std::unique_lock lock(mutex_);
    for (std::uint64_t round = timing_;; ++round) {
      came_.wait(lock, [&] { return ends_ || (answers && !waiting_.empty()); });
      if (ends_) return;
      std::swap(waiting_[round * 7 % waiting_.size()], waiting_.back());
      const Waiting one = waiting_.back();
      waiting_.pop_back();
      one.queue->put(one.conversation, answer(*one.talk));
    }
  }

  std::uint64_t timing_;
  int asked_ = 0;
  bool ends_ = false;
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Waiting> waiting_;
  std::thread thread_;
};

inline void expect_same(const Rollout& seen, const Rollout& expected) {
  EXPECT_EQ(seen.sample, expected.sample);
  EXPECT_EQ(seen.finish, expected.finish) << expected.sample;
  EXPECT_EQ(seen.text, expected.text) << expected.sample;
  EXPECT_EQ(seen.facts, expected.facts) << expected.sample;
  ASSERT_EQ(seen.turns.size(), expected.turns.size()) << expected.sample;
  for (std::size_t t = 0; t < seen.turns.size(); ++t) {
    EXPECT_EQ(seen.turns[t].role, expected.turns[t].role);
    EXPECT_EQ(seen.turns[t].tokens, expected.turns[t].tokens);
    EXPECT_EQ(seen.turns[t].columns.logprob, expected.turns[t].columns.logprob);
    EXPECT_EQ(seen.turns[t].columns.entropy, expected.turns[t].columns.entropy);
  }
}

inline void expect_same(const RolloutShard& seen, const RolloutShard& expected) {
  ASSERT_EQ(seen.groups.size(), expected.groups.size());
  for (std::size_t g = 0; g < seen.groups.size(); ++g) {
    ASSERT_EQ(seen.groups[g].rollouts.size(), expected.groups[g].rollouts.size());
    for (std::size_t i = 0; i < seen.groups[g].rollouts.size(); ++i)
      expect_same(seen.groups[g].rollouts[i], expected.groups[g].rollouts[i]);
  }
}

inline std::vector<const Rollout*> all_of(const RolloutShard& shard) {
  std::vector<const Rollout*> all;
  for (const Group& group : shard.groups)
    for (const Rollout& rollout : group.rollouts) all.push_back(&rollout);
  return all;
}

}  // namespace rollcall::run::test
