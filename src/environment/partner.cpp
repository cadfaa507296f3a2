// Environments that answer on the calling thread or on threads of their own.
#include "environment/partner.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace rollcall::environment {
namespace {

/// The answer to the last action of a conversation, or its start.
Answer answer_to(const Environment& environment, const Talk& talk) {
  const Prompt& prompt = *talk.prompt;
  if (talk.actions.empty()) return environment.start(prompt, talk.start, talk.seeds.start);
  if (!talk.state) return {.reason = "the state is not known", .loss = Loss::malformed};
  const auto turn = std::uint32_t(talk.actions.size() - 1);
  return environment.step(prompt, *talk.state, talk.actions.back(), step_seed(talk.seeds, turn),
                          turn);
}

class AtOnce final : public Partner {
 public:
  explicit AtOnce(std::unique_ptr<const Environment> environment)
      : environment_(std::move(environment)) {}
  const Traits& traits() const override { return environment_->traits(); }
  std::optional<Answer> ask(const Talk& talk, std::uint64_t, AnswerQueue&) override {
    return answer_to(*environment_, talk);
  }
  void close(const Talk&) override {}

 private:
  std::unique_ptr<const Environment> environment_;
};

class OnThreads final : public Partner {
 public:
  OnThreads(std::unique_ptr<const Environment> environment, int threads)
      : environment_(std::move(environment)) {
    for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { work(); });
  }
  ~OnThreads() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    asked_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  OnThreads(const OnThreads&) = delete;
  OnThreads& operator=(const OnThreads&) = delete;

  const Traits& traits() const override { return environment_->traits(); }

  std::optional<Answer> ask(const Talk& talk, std::uint64_t conversation,
                            AnswerQueue& queue) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({&talk, conversation, &queue});
    }
    asked_.notify_one();
    return std::nullopt;
  }

  void close(const Talk& talk) override {
    std::unique_lock lock(mutex_);
    std::erase_if(waiting_, [&](const Question& question) { return question.talk == &talk; });
    if (running_.contains(&talk)) {
      closed_.insert(&talk);
      done_.wait(lock, [&] { return !running_.contains(&talk); });
      closed_.erase(&talk);
    }
  }

 private:
  struct Question {
    const Talk* talk;
    std::uint64_t conversation;
    AnswerQueue* queue;
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      asked_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      if (ends_) return;
      const Question question = waiting_.front();
      waiting_.pop_front();
      running_.insert(question.talk);
      lock.unlock();
      Answer answer = carried_out(*question.talk);
      lock.lock();
      running_.erase(question.talk);
      if (!closed_.contains(question.talk))
        question.queue->put(question.conversation, std::move(answer));
      done_.notify_all();
    }
  }

  /// Environments do not throw. One that does loses the conversation, not the job.
  Answer carried_out(const Talk& talk) const {
    try {
      return answer_to(*environment_, talk);
    } catch (const std::exception& fault) {
      return {.reason = fault.what(), .loss = Loss::malformed};
    }
  }

  std::unique_ptr<const Environment> environment_;
  std::mutex mutex_;
  std::condition_variable asked_, done_;
  std::deque<Question> waiting_;
  std::set<const Talk*> running_, closed_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Partner> at_once(std::unique_ptr<const Environment> environment) {
  return std::make_unique<AtOnce>(std::move(environment));
}

std::unique_ptr<Partner> on_threads(std::unique_ptr<const Environment> environment, int threads) {
  return std::make_unique<OnThreads>(std::move(environment), threads);
}

}  // namespace rollcall::environment
