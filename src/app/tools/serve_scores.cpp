// Takes the lines that have arrived, judges them side by side, and writes each answer as soon as
// those before it are written.
#include "app/tools/serve_scores.hpp"

#include "app/tools/score_line.hpp"
#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/files/lines.hpp"
#include "base/process/uninterrupted.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rollcall::app {
namespace {

constexpr const char* kInput = "standard input";
constexpr std::size_t kMostTogether = 1024;  // lines that wait in memory, as in `score FILE`
constexpr std::size_t kBlock = 1 << 16;      // bytes; the capacity of a pipe of Linux

struct Asked {
  ScoreLine line;
  bool is_too_long;  ///< beyond kLongestLine bytes, of which none is kept
};

/// The lines of standard input. Only whole lines count as arrived, so that an incomplete line
/// delays no answer.
class ArrivingLines {
 public:
  /// The next line without its line break. If none has arrived, it waits for one if `waits`, and
  /// otherwise returns nothing; it also returns nothing at the end of the input. Throws InputError.
  std::optional<Asked> next(bool waits) {
    for (;;) {
      const std::size_t end = buffer_.find('\n', searched_);
      if (end != std::string::npos) return take(end, end + 1);
      searched_ = buffer_.size();
      if (searched_ > kLongestLine) skip_rest();
      if (has_ended_ && buffer_.empty() && !is_too_long_) return std::nullopt;
      if (has_ended_) return take(buffer_.size(), buffer_.size());
      if (!waits && !can_read()) return std::nullopt;
      read();
    }
  }

 private:
  Asked take(std::size_t end, std::size_t next) {
    Asked asked{{++number_, buffer_.substr(0, end)}, std::exchange(is_too_long_, false)};
    buffer_.erase(0, next);
    searched_ = 0;
    return asked;
  }
  void skip_rest() {
    is_too_long_ = true;
    buffer_.clear();
    searched_ = 0;
  }
  static bool can_read() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::poll(&input, 1, 0) == 1;
  }
  void read() {
    std::array<char, kBlock> block;  // not cleared, which would take longer than reading most lines
    const auto bytes =
        uninterrupted([&] { return ::read(STDIN_FILENO, block.data(), block.size()); });
    if (bytes < 0) reading_failure("read", kInput, errno);
    has_ended_ = bytes == 0;
    buffer_.append(block.data(), std::size_t(bytes));
  }

  std::string buffer_;  ///< bytes that are read and not yet taken
  std::size_t searched_ = 0, number_ = 0;
  bool is_too_long_ = false, has_ended_ = false;
};

std::string answer_to(const reward::Grader& judge, const Asked& asked) {
  std::string problem;
  try {
    require(
        !asked.is_too_long,
        fmt::format("{}:{}: a line of more than {} bytes", kInput, asked.line.number, kLongestLine),
        "its memory could grow without an end", "shorten the response");
    return score_line(judge, asked.line, kInput);
  } catch (const InputError& error) {
    problem = error.what();
  }
  return nlohmann::json{{"error", problem}}.dump(-1, ' ', false,
                                                 nlohmann::json::error_handler_t::replace);
}

/// The answers to lines that are judged together.
class Answers {
 public:
  explicit Answers(std::size_t count) : answers_(count) {}
  /// Takes the answer to the n-th line and writes all answers that are due. Any thread may call it.
  void put(std::size_t n, std::string answer) {
    const std::lock_guard lock(mutex_);
    answers_[n] = std::move(answer);
    for (; has_reader_ && next_ < answers_.size() && answers_[next_]; ++next_)
      has_reader_ = write_verdicts(visible_lines(*answers_[next_]) + '\n');
  }
  /// Keeps the first error that ends the server, as opposed to an error in one line.
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  /// Whether the reader of the answers is there. Throws the error that was kept.
  bool has_reader() const {
    if (error_) std::rethrow_exception(error_);
    return has_reader_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::optional<std::string>> answers_;  ///< [lines]
  std::size_t next_ = 0;                             ///< the first answer that is not written
  bool has_reader_ = true;
  std::exception_ptr error_;
};

/// Answers all lines. Returns false where the reader of the answers has gone away.
bool answer_all(const reward::Grader& judge, const std::vector<Asked>& lines, std::size_t threads) {
  Answers answers(lines.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    try {
      for (std::size_t n = next++; n < lines.size(); n = next++)
        answers.put(n, answer_to(judge, lines[n]));
    } catch (...) {
      answers.fail(std::current_exception());
      next = lines.size();  // the threads take no more lines
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t n = 1; n < std::min(threads, lines.size()); ++n) others.emplace_back(work);
    work();
  }
  return answers.has_reader();
}

}  // namespace

ExitCode serve_scores(const reward::Grader& judge, std::size_t threads) {
  ArrivingLines input;
  for (;;) {
    std::vector<Asked> lines;
    while (lines.size() < kMostTogether) {
      auto line = input.next(lines.empty());
      if (!line) break;
      lines.push_back(std::move(*line));
    }
    if (lines.empty() || !answer_all(judge, lines, threads)) return ExitCode::done;
  }
}

}  // namespace rollcall::app
