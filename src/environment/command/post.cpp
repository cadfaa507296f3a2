// One lock, and an eventfd for the thread that polls the command's pipes.
#include "environment/command/post.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace rollcall::environment {

Post::Post() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Post::ask(LinesOfTalk lines, std::uint64_t conversation, AnswerQueue& queue) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    wanted_[lines.id()] = {conversation, &queue};
    items_.emplace_back(std::move(lines));
  }
  wake();
}

void Post::close(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    wanted_.erase(id);
    if (!failure_) items_.emplace_back(id);
  }
  wake();
}

void Post::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake();
}

std::optional<std::vector<Post::Item>> Post::collect() {
  const std::lock_guard lock(mutex_);
  if (ended_) return std::nullopt;
  return std::exchange(items_, {});
}

void Post::deliver(const std::string& id, Answer answer) {
  const std::lock_guard lock(mutex_);
  const auto wanted = wanted_.find(id);
  if (wanted == wanted_.end()) return;
  wanted->second.second->put(wanted->second.first, std::move(answer));
  wanted_.erase(wanted);
}

void Post::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  for (const auto& [id, asked] : wanted_) asked.second->fail(failure_);
  wanted_.clear(), items_.clear();
}

void Post::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_.fd(), &one, sizeof one);
}

}  // namespace rollcall::environment
