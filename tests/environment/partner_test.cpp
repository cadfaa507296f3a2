// Answers at once and on threads, the queue that brings them, and conversations that close early.
#include "environment/partner.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

namespace rollcall::environment {
namespace {

using namespace std::chrono_literals;

/// Says what it was given. A step waits for `gate` where there is one.
class Echo : public Environment {
 public:
  explicit Echo(std::shared_future<void> gate = {}, std::atomic<int>* entered = nullptr)
      : gate_(std::move(gate)), entered_(entered) {}
  const Traits& traits() const override {
    static const Traits named{.kinds = {"echo"}};
    return named;
  }
  Answer start(const Prompt& prompt, const std::string& state, std::uint64_t seed) const override {
    return {.state = state + "begin", .text = prompt.text + " " + std::to_string(seed)};
  }
  Answer step(const Prompt&, const std::string& state, std::string_view action, std::uint64_t seed,
              std::uint32_t turn) const override {
    if (action == "throw") throw std::runtime_error("a fault");
    if (entered_ != nullptr) ++*entered_;
    if (gate_.valid()) gate_.wait();
    return {.state = state + ".",
            .text = std::string(action) + " " + std::to_string(seed) + " " + std::to_string(turn)};
  }

 private:
  std::shared_future<void> gate_;
  std::atomic<int>* entered_;
};

Talk talk_of(const Prompt& prompt, std::uint64_t number) {
  Talk talk;
  talk.prompt = &prompt;
  talk.seeds = {number, number + 1};
  return talk;
}

TEST(AnswerQueue, GivesAnswersInTheOrderInWhichTheyCame) {
  AnswerQueue queue;
  EXPECT_TRUE(queue.take().empty());
  queue.put(7, {.text = "a"});
  queue.put(3, {.text = "b"});
  const auto late = queue.take(60);
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late[0].first, 7U);
  EXPECT_EQ(late[1].second.text, "b");
  EXPECT_TRUE(queue.take(0.01).empty()) << "an answer is taken once, and a wait ends";
}

TEST(AnswerQueue, WakesWhoWaits) {
  AnswerQueue queue;
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    queue.put(1, {});
  });
  EXPECT_EQ(queue.take(60).size(), 1U);
  other.join();
}

/// The queue may go as soon as its answer was taken. Sanitizers see a queue that is used later.
TEST(AnswerQueue, MayGoWithItsLastAnswer) {
  for (int i = 0; i < 2000; ++i) {
    auto queue = std::make_unique<AnswerQueue>();
    std::thread other([to = queue.get()] { to->put(1, {}); });
    while (queue->take(0.01).empty()) {
    }
    queue.reset();
    other.join();
  }
}

TEST(Partner, AtOnceAnswersStartsAndSteps) {
  const auto partner = at_once(std::make_unique<Echo>());
  EXPECT_EQ(partner->traits().kinds.front(), "echo");
  Prompt prompt;
  prompt.text = "question";
  AnswerQueue queue;
  Talk talk = talk_of(prompt, 4);
  const auto begin = partner->ask(talk, 1, queue);
  ASSERT_TRUE(begin.has_value());
  EXPECT_EQ(begin->text, "question 4");
  talk.state = begin->state;
  talk.actions = {"one", "two"};
  EXPECT_EQ(partner->ask(talk, 1, queue)->text,
            "two " + std::to_string(step_seed(talk.seeds, 1)) + " 1");
  talk.state.reset();
  EXPECT_EQ(partner->ask(talk, 1, queue)->loss, Loss::malformed);
  partner->close(talk);
  EXPECT_TRUE(queue.take().empty());
}

TEST(Partner, ThreadsGiveTheSameAnswers) {
  const auto now = at_once(std::make_unique<Echo>()),
             later = on_threads(std::make_unique<Echo>(), 3);
  const Prompt prompt;
  AnswerQueue queue, unused;
  std::vector<Talk> talks;
  for (std::uint64_t i = 0; i < 200; ++i) {
    talks.push_back(talk_of(prompt, i));
    if (i % 3 != 0) talks.back().state = "s", talks.back().actions.assign(i % 5 + 1, "go");
  }
  for (std::uint64_t i = 0; i < talks.size(); ++i)
    EXPECT_FALSE(later->ask(talks[i], i, queue).has_value());
  std::map<std::uint64_t, Answer> came;
  while (came.size() < talks.size()) {
    auto late = queue.take(60);
    ASSERT_FALSE(late.empty());
    for (auto& [number, answer] : late) EXPECT_TRUE(came.emplace(number, answer).second);
  }
  for (std::uint64_t i = 0; i < talks.size(); ++i) {
    const auto expected = now->ask(talks[i], i, unused);
    EXPECT_EQ(came[i].text, expected->text);
    EXPECT_EQ(came[i].state, expected->state);
  }
}

TEST(Partner, NoAnswerComesAfterAClose) {
  std::promise<void> gate;
  std::atomic<int> entered = 0;
  const auto partner = on_threads(std::make_unique<Echo>(gate.get_future().share(), &entered), 1);
  const Prompt prompt;
  AnswerQueue queue;
  std::vector<Talk> talks(3, talk_of(prompt, 1));
  for (Talk& talk : talks) talk.state = "s", talk.actions = {"go"};
  for (std::uint64_t i = 0; i < talks.size(); ++i) partner->ask(talks[i], i, queue);
  while (entered == 0) std::this_thread::sleep_for(1ms);
  partner->close(talks[1]);  // nobody has begun with it
  std::thread opens([&] {
    std::this_thread::sleep_for(20ms);
    gate.set_value();
  });
  partner->close(talks[0]);  // waits until the thread has left it
  opens.join();
  std::vector<AnswerQueue::Late> late;
  while (late.empty()) late = queue.take(60);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late.front().first, 2U) << "the one that is open is answered";
  EXPECT_EQ(entered, 2) << "the one that was closed in time is not carried out";
  EXPECT_TRUE(queue.take(0.02).empty());
}

TEST(Partner, EndsWithQuestionsThatNobodyTook) {
  const Prompt prompt;
  AnswerQueue queue;
  std::vector<Talk> talks(50, talk_of(prompt, 1));
  const auto partner = on_threads(std::make_unique<Echo>(), 2);
  for (std::uint64_t i = 0; i < talks.size(); ++i) partner->ask(talks[i], i, queue);
}

TEST(Partner, AnEnvironmentThatThrowsLosesTheConversationAlone) {
  const auto partner = on_threads(std::make_unique<Echo>(), 1);
  const Prompt prompt;
  AnswerQueue queue;
  Talk bad = talk_of(prompt, 1), good = bad;
  bad.state = good.state = "s", bad.actions = {"throw"}, good.actions = {"go"};
  partner->ask(bad, 0, queue);
  partner->ask(good, 1, queue);
  std::vector<AnswerQueue::Late> late;
  while (late.size() < 2)
    for (auto& answer : queue.take(60)) late.push_back(std::move(answer));
  EXPECT_EQ(late[0].second.loss, Loss::malformed);
  EXPECT_EQ(late[0].second.reason, "a fault");
  EXPECT_EQ(late[1].second.loss, Loss::none);
}

}  // namespace
}  // namespace rollcall::environment
