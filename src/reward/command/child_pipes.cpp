// Reads until the pipes are empty and writes until they are full.
#include "reward/command/child_pipes.hpp"

#include "base/process/uninterrupted.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rollcall::reward {
namespace {

constexpr std::size_t kPiece = 65536;  // bytes, the size of a pipe
constexpr double kLongestWait_s = 0.25;
constexpr int kPiecesOfErrors = 4;

}  // namespace

void ChildPipes::send(const std::string& line) {
  // If some bytes are always waiting, those already written must still be removed.
  if (written_ > to_write_.size() / 2) to_write_.erase(0, std::exchange(written_, 0U));
  to_write_ += line;
  write();
}

void ChildPipes::write() {
  while (has_to_write()) {
    const auto put = uninterrupted([&] {
      return ::write(child_.in.fd(), to_write_.data() + written_, to_write_.size() - written_);
    });
    if (put < 0 && errno == EAGAIN) return;
    // the process no longer reads, which its end or the time limit will show
    if (put < 0) written_ = to_write_.size();
    else written_ += std::size_t(put);
  }
}

bool ChildPipes::read(int most) {
  std::array<char, kPiece> piece;
  for (int i = 0; i < most; ++i) {
    const auto got =
        uninterrupted([&] { return ::read(child_.out.fd(), piece.data(), piece.size()); });
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    lines_.add({piece.data(), std::size_t(got)});
  }
  return true;
}

void ChildPipes::read_errors(const std::function<void(std::string_view)>& errors) {
  std::array<char, kPiece> piece;
  for (int i = 0; errors_open_ && i < kPiecesOfErrors; ++i) {
    const auto got =
        uninterrupted([&] { return ::read(child_.err.fd(), piece.data(), piece.size()); });
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) errors({piece.data(), std::size_t(got)});
    else errors_open_ = false, child_.err = Pipe();
  }
}

void wait_for(int wake, const std::vector<const ChildPipes*>& processes, double left_s) {
  std::vector<pollfd> waits{{wake, POLLIN, 0}};
  for (const ChildPipes* pipes : processes) {
    if (pipes == nullptr) continue;
    const Child& child = pipes->child();
    waits.push_back({child.out.fd(), POLLIN, 0});
    if (child.err.fd() >= 0) waits.push_back({child.err.fd(), POLLIN, 0});
    if (pipes->has_to_write()) waits.push_back({child.in.fd(), POLLOUT, 0});
  }
  const int left_ms =
      std::isinf(left_s) ? -1 : int(std::ceil(std::clamp(left_s, 0.0, kLongestWait_s) * 1000));
  uninterrupted([&] { return ::poll(waits.data(), waits.size(), left_ms); });
}

}  // namespace rollcall::reward
