// Writes whole buffers by write(2), which tells a closed pipe from a full disk.
#include "app/archive/output.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/files/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rollcall::app::archive {
namespace {

constexpr std::size_t kBuffer = 1 << 16;  // bytes, as much as a pipe takes at once

}  // namespace

Output::Output(std::filesystem::path path, std::string_view beginning)
    : path_(std::move(path)), fd_(STDOUT_FILENO) {
  if (path_.empty()) return;
  require_output_file(path_, beginning);
  partial_ = path_.string() + ".partial";
  fd_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  require<StorageError>(
      fd_ >= 0, fmt::format("cannot create {}: {}", partial_.string(), std::strerror(errno)),
      "there is nowhere to write to", "choose another file");
}

Output::~Output() {
  if (path_.empty() || fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());  // finish() was not called
}

bool Output::write(std::string_view text) {
  if (path_.empty()) buffer_ += visible_lines(text);
  else buffer_ += text;
  return buffer_.size() < kBuffer ? open_ : flush();
}

bool Output::flush() {
  for (std::size_t done = 0; open_ && done < buffer_.size();) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n >= 0) done += std::size_t(n);
    else if (errno == EPIPE) open_ = false;
    else
      require<StorageError>(
          errno == EINTR,
          fmt::format("cannot write {}: {}", path_.empty() ? "standard output" : partial_.string(),
                      std::strerror(errno)),
          "the output is not complete", "check free space and quota");
  }
  buffer_.clear();
  return open_;
}

void Output::finish() {
  flush();
  if (path_.empty()) return;
  ::close(std::exchange(fd_, -1));
  publish_file(partial_, path_);
}

}  // namespace rollcall::app::archive
