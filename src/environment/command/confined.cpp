// Threads that wait for runs in the sandbox. A run knows nothing of other runs, so an answer is a
// function of the conversation, and nothing has to be asked twice.
#include "base/errors/error.hpp"
#include "environment/command/lines_of_talk.hpp"
#include "environment/command/message.hpp"
#include "environment/command/processes.hpp"
#include "sandbox/packed.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace rollcall::environment {
namespace {

constexpr std::size_t kShownErrors = 200;  // bytes of the last line of standard error

Answer lost(Loss loss, std::string reason) { return {.reason = std::move(reason), .loss = loss}; }

std::string_view last_line(std::string_view text) {
  const std::string_view trimmed = text::trim(text);
  return trimmed.substr(trimmed.rfind('\n') + 1);
}

/// What the run says. Where the machine ended it, nothing is known about the environment.
Answer answer_of(const sandbox::Outcome& outcome, const LinesOfTalk& lines, const Traits& traits) {
  using sandbox::End;
  if (outcome.end == End::sandbox_error || outcome.starved)
    return lost(Loss::machine, fmt::format("the sandbox failed: {}", outcome.reason));
  if (outcome.end == End::timed_out)
    return lost(Loss::clock, fmt::format("timed out: {}", outcome.reason));
  if (outcome.end != End::passed) {
    const std::string_view said = last_line(outcome.err);
    return lost(Loss::died, fmt::format("{}: {}", sandbox::name_of(outcome.end),
                                        !outcome.reason.empty() ? outcome.reason
                                                                : text::cut(said, kShownErrors)));
  }
  Parsed parsed = parse_answer(last_line(outcome.out), traits);
  if (!parsed.fault.empty()) return lost(Loss::malformed, parsed.fault);
  if (parsed.id != lines.id())
    return lost(Loss::malformed, fmt::format("its last line does not answer \"{}\"", lines.id()));
  if (std::string wrong = lines.wrong_turn(lines.count() - 1, parsed); !wrong.empty())
    return lost(Loss::malformed, std::move(wrong));
  return std::move(parsed.answer);
}

class Confined final : public Partner {
 public:
  Confined(const sandbox::Sandbox& sandbox, const RunConfig& config)
      : sandbox_(sandbox),
        program_(sandbox::packed(config.environment.command)),
        traits_(traits_of(config.environment)) {
    for (std::int64_t i = 0; i < std::max<std::int64_t>(1, config.sandbox.workers); ++i)
      threads_.emplace_back([this] { run(); });
  }
  ~Confined() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  const Traits& traits() const override { return traits_; }
  std::optional<Answer> ask(const Talk& talk, std::uint64_t conversation,
                            AnswerQueue& queue) override {
    LinesOfTalk lines(talk);
    {
      const std::lock_guard lock(mutex_);
      wanted_[talk.id] = {conversation, &queue};
      asked_.push_back(std::move(lines));
    }
    changed_.notify_one();
    return std::nullopt;
  }
  void close(const Talk& talk) override {
    const std::lock_guard lock(mutex_);
    wanted_.erase(talk.id);
    std::erase_if(asked_, [&](const LinesOfTalk& each) { return each.id() == talk.id; });
  }

 private:
  void run() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return closed_ || !asked_.empty(); });
      if (closed_) return;
      const LinesOfTalk lines = std::move(asked_.front());
      asked_.pop_front();
      lock.unlock();
      Answer answer = answer_to(lines);
      lock.lock();
      const auto wanted = wanted_.find(lines.id());
      if (wanted == wanted_.end()) continue;
      wanted->second.second->put(wanted->second.first, std::move(answer));
      wanted_.erase(wanted);
    }
  }

  /// A fault of this machine, such as a lack of memory, loses the conversation, not the job.
  Answer answer_to(const LinesOfTalk& lines) const {
    try {
      std::string input;
      for (std::size_t i = lines.has_state() ? lines.count() - 1 : 0; i < lines.count(); ++i)
        input += lines.line(i);
      return answer_of(sandbox_.run(program_, input), lines, traits_);
    } catch (const std::exception& fault) {
      return lost(Loss::machine, fmt::format("the sandbox failed: {}", fault.what()));
    }
  }

  const sandbox::Sandbox& sandbox_;
  sandbox::Program program_;
  Traits traits_;
  std::mutex mutex_;  // guards what follows, but for the threads
  std::condition_variable changed_;
  std::deque<LinesOfTalk> asked_;
  std::map<std::string, std::pair<std::uint64_t, AnswerQueue*>> wanted_;  ///< by id
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Partner> make_confined(const RunConfig& config) {
  const sandbox::Sandbox* sandbox = sandbox::started();
  require<EnvironmentError>(sandbox != nullptr, "the sandbox was not started",
                            "environment.sandbox asks for it",
                            "unset environment.sandbox, or see what `rollcall doctor` says of it");
  return std::make_unique<Confined>(*sandbox, config);
}

}  // namespace rollcall::environment
