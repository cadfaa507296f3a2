// Reads until the pipes are empty and writes until they are full.
#include "reward/command/conversation.hpp"

#include "base/process/uninterrupted.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::reward {
namespace {

constexpr std::size_t kPiece = 65536;  // bytes, the size of a pipe
constexpr int kPiecesAtOnce = 4;
constexpr std::size_t kRemembered = 64;  // ids of answered samples that are remembered

}  // namespace

void Conversation::send(const Sample& sample) {
  asked_ = sample.id;
  to_write_ = to_line(sample), written_ = 0;
  write();
}

void Conversation::write() {
  while (has_to_write()) {
    const auto put = uninterrupted([&] {
      return ::write(child_.in.fd(), to_write_.data() + written_, to_write_.size() - written_);
    });
    if (put < 0 && errno == EAGAIN) return;
    // the process reads no more, which its end or the clock will show
    if (put < 0) written_ = to_write_.size();
    else written_ += std::size_t(put);
  }
}

bool Conversation::read() {
  std::array<char, kPiece> piece;
  for (int i = 0; i < kPiecesAtOnce; ++i) {
    const auto got =
        uninterrupted([&] { return ::read(child_.out.fd(), piece.data(), piece.size()); });
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    lines_.add({piece.data(), std::size_t(got)});
  }
  return true;
}

void Conversation::read_errors(const std::function<void(std::string_view)>& errors) {
  std::array<char, kPiece> piece;
  for (int i = 0; errors_open_ && i < kPiecesAtOnce; ++i) {
    const auto got =
        uninterrupted([&] { return ::read(child_.err.fd(), piece.data(), piece.size()); });
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) errors({piece.data(), std::size_t(got)});
    else errors_open_ = false, child_.err = Pipe();
  }
}

void Conversation::answered() {
  answered_.push_back(std::exchange(asked_, {}));
  if (answered_.size() > kRemembered) answered_.pop_front();
}

bool Conversation::has_answered(const std::string& id) const {
  return std::find(answered_.begin(), answered_.end(), id) != answered_.end();
}

}  // namespace rollcall::reward
