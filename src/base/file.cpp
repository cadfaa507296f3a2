// POSIX calls behind durable files, each checked.
#include "base/file.hpp"

#include "base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace rollcall {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void storage_failure(const char* action, const fs::path& path, int error) {
  throw StorageError(error_message(fmt::format("cannot {} {}: {}", action, path.string(), std::strerror(error)),
                                   "the run would lose what it reports as saved", "check free space, quota and permissions"));
}

void write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      ::close(fd);
      ::unlink(path.c_str());
      storage_failure("write", path, error);
    }
    content.remove_prefix(std::size_t(n));
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::error_code ec;
  require(!fs::is_directory(path, ec), fmt::format("{} is a folder", path.string()), "a file is needed", "name the file inside it");
  std::ifstream in(path, std::ios::binary);
  require(bool(in), fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)), "it was named as input", "check the path and its permissions");
  std::ostringstream text;
  text << in.rdbuf();
  require(!in.bad(), fmt::format("cannot read {}", path.string()), "it was named as input", "check the file system");
  return std::move(text).str();
}

void fsync_path(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) storage_failure("open for fsync", path, errno);
  const int rc = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  if (rc != 0) storage_failure("fsync", path, error);
}

void publish_file(const fs::path& temporary, const fs::path& final_path) {
  fsync_path(temporary);
  if (::rename(temporary.c_str(), final_path.c_str()) != 0) storage_failure("rename into place", final_path, errno);
  fsync_path(final_path.parent_path().empty() ? fs::path(".") : final_path.parent_path());
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  const fs::path temporary = path.string() + ".partial";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) storage_failure("create", temporary, errno);
  write_all(fd, content, temporary);
  if (::close(fd) != 0) storage_failure("close", temporary, errno);
  publish_file(temporary, path);
}

void make_folder(const fs::path& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec && !fs::is_directory(path)) storage_failure("create folder", path, ec.value());
}

FolderLock::FolderLock(const fs::path& folder, std::string_view holder) {
  const fs::path path = folder / ".lock";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) storage_failure("open", path, errno);
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const std::string other = read_file(path);
    ::close(fd_);
    throw EnvironmentError(error_message(fmt::format("run folder {} is in use by {}", folder.string(), other.empty() ? "another job" : other),
                                         "two jobs would overwrite each other's rollouts", "wait for it, stop it, or choose another run.dir"));
  }
  if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, holder.data(), holder.size(), 0) < 0) {
    const int error = errno;
    ::close(fd_);  // the destructor does not run
    storage_failure("write", path, error);
  }
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace rollcall
