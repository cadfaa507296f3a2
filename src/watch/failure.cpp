// The rank that creates RUN/failure first prints the error; the others stay silent.
#include "watch/failure.hpp"

#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/process/stop_signals.hpp"
#include "base/process/uninterrupted.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

namespace rollcall::watch {

bool is_first_failure(const std::filesystem::path& run_dir, const std::string& message) {
  const int fd = uninterrupted([&] {
    return ::open((run_dir / "failure").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  });
  if (fd < 0) return errno != EEXIST;  // if the file cannot be written, every rank prints
  const bool noted = uninterrupted([&] { return ::write(fd, message.data(), message.size()); }) ==
                     ssize_t(message.size());
  if (!noted) log_warning("cannot write {}", (run_dir / "failure").string());
  ::close(fd);
  return true;
}

void Failure::say(const std::exception& error) {
  if (first_) return;
  if (const auto* known = dynamic_cast<const Error*>(&error)) code_ = known->code();
  const std::string message =
      fmt::format("{}{}", world_->size() > 1 ? fmt::format("rank {}: ", world_->rank()) : "",
                  message_of(error));
  end_as_failed(code_);
  // Users read the file with cat, so nothing in the message may control a terminal.
  first_ = is_first_failure(run_dir_, visible_lines(message, kMessageBar) + "\n");
  if (*first_) complain(message);
}

ExitCode Failure::end() {
  constexpr double kAbortDeadline_s = 10.0;  // before its abort, the first rank waits up to 5 s for
                                             // its writers
  if (!first_.value_or(true))
    std::this_thread::sleep_for(std::chrono::duration<double>(kAbortDeadline_s));
  if (world_->size() > 1)
    world_->abort(int(code_));  // otherwise the other ranks would wait for this one
  return code_;
}

}  // namespace rollcall::watch
