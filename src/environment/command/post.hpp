// Passes conversations to the thread that runs a command, and answers back.
#pragma once

#include "environment/answer_queue.hpp"
#include "environment/command/lines_of_talk.hpp"
#include "reward/command/spawner.hpp"

#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rollcall::environment {

/// Any thread may call any function.
class Post {
 public:
  Post();

  // For the threads that drive conversations:

  /// Throws the exception that was given to fail().
  void ask(LinesOfTalk lines, std::uint64_t conversation, AnswerQueue& queue);
  /// From now on no answer to this conversation is delivered.
  void close(const std::string& id);
  /// Asks the thread that runs the command to end.
  void end();

  // For the thread that runs the command:

  /// A question, or the id of a conversation that is closed.
  using Item = std::variant<LinesOfTalk, std::string>;
  /// The items that have arrived since the last call, in order; nothing once it is time to end.
  std::optional<std::vector<Item>> collect();
  void deliver(const std::string& id, Answer answer);
  /// From now on ask() throws this exception, and so do the queues of conversations that wait for
  /// an answer.
  void fail(std::exception_ptr failure);
  /// A file descriptor that is readable after ask(), close() or end(), until it is read.
  int wake_fd() const { return wake_.fd(); }

 private:
  void wake() const;

  reward::Pipe wake_;  // an eventfd
  std::mutex mutex_;   // guards all members below
  std::vector<Item> items_;
  std::map<std::string, std::pair<std::uint64_t, AnswerQueue*>> wanted_;  ///< by id
  std::exception_ptr failure_;
  bool ended_ = false;
};

}  // namespace rollcall::environment
