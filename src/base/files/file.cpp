// The POSIX calls that make files durable, each checked.
#include "base/files/file.hpp"

#include "base/errors/storage_trouble.hpp"
#include "base/errors/visible.hpp"
#include "base/files/lfs_pointer.hpp"
#include "base/files/nfs_visibility.hpp"
#include "base/files/plain_file.hpp"
#include "base/files/planted_links.hpp"
#include "base/numbers/hash.hpp"
#include "base/process/uninterrupted.hpp"
#include "base/text/foreign_json.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

namespace rollcall {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void storage_failure(const char* action, const fs::path& path, int error) {
  const auto [reason, advice] = storage_trouble(error, path);
  throw StorageError(error_message(fmt::format("cannot {} {}: {}", action, path.string(), reason),
                                   "what was to be kept there would be lost", advice));
}

void write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd, content.data(), content.size()); });
    if (n <= 0) storage_failure("write", path, n < 0 ? errno : ENOSPC);
    content.remove_prefix(std::size_t(n));
  }
}

void sync(int fd, const fs::path& path) {
  if (uninterrupted([&] { return ::fsync(fd); }) != 0) storage_failure("fsync", path, errno);
}

fs::path folder_of(const fs::path& path) {
  return path.parent_path().empty() ? fs::current_path() : path.parent_path();
}

}  // namespace

bool file_seen_in_time(const fs::path& path, double longest_s) {
  const auto seen = [&] {
    std::error_code ec;
    const bool there = fs::exists(path, ec);
    // ESTALE: NFS reports this for a name that is just being replaced.
    if (ec && ec.value() != ESTALE) reading_failure("look at", path, ec.value());
    return there;
  };
  return wait_until_visible(seen, longest_s);
}

namespace {

constexpr std::size_t kLongestPath = 200;  // bytes of a path in a message

bool is_refused_name(const std::error_code& code) {
  for (const auto reason : {std::errc::permission_denied, std::errc::operation_not_permitted,
                            std::errc::filename_too_long, std::errc::too_many_symbolic_link_levels})
    if (code == reason) return true;
  return false;
}

}  // namespace

std::string message_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const std::length_error*>(&error) != nullptr)
    return error_message("this process gets no more memory",
                         "what it was given to read, or what it computes with that, does not fit",
                         "name smaller files, or raise the limit (ulimit -v, Slurm's --mem)");
  if (dynamic_cast<const nlohmann::json::exception*>(&error) != nullptr)
    return error_message(
        fmt::format("JSON that this command read is not what it should be: {}", fault_of(error)),
        "a file of the run was changed or cut off",
        "rollcall archive verify RUN names what is damaged");
  const auto* refused = dynamic_cast<const fs::filesystem_error*>(&error);
  if (refused == nullptr || refused->path1().empty()) return error.what();
  const std::string name = refused->path1().string();
  const std::string problem =
      fmt::format("{}: {}", brief(name, kLongestPath), refused->code().message());
  if (is_refused_name(refused->code()))
    return error_message(problem, "the file system cannot look for it",
                         "name another path, or make it readable (chmod, for each folder above)");
  return error_message(problem, "the file system refuses to say what is there",
                       "check the disk, permissions and quota, then try again");
}

ExitCode exit_code_of(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error)) return known->code();
  const auto* refused = dynamic_cast<const fs::filesystem_error*>(&error);
  return refused != nullptr && is_refused_name(refused->code()) ? ExitCode::misconfigured
                                                                : ExitCode::failed;
}

void reading_failure(const char* action, const fs::path& path, int error) {
  const std::string problem =
      fmt::format("cannot {} {}: {}", action, path.string(), std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
      throw InputError(error_message(problem, "it was named as input", "check the path"));
    case EACCES:
    case EPERM:
    case ELOOP:
      throw UnreadableError(error_message(problem, "what it holds is not known",
                                          "check its permissions, then try again"),
                            ExitCode::misconfigured);
    default:
      throw UnreadableError(error_message(
          problem, "what it holds is not known",
          "check the disk, then try again; if it stays so, move the file out of the run"));
  }
}

void require_end_of_input() {
  require(std::ferror(stdin) == 0,
          fmt::format("cannot read standard input: {}", std::strerror(errno)),
          "the rest of the input is missing", "name a file or a pipe with < or |");
}

std::vector<fs::directory_entry> list_folder(const fs::path& folder) {
  std::error_code ec;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator entry(folder, ec); !ec && entry != fs::directory_iterator();
       entry.increment(ec))
    entries.push_back(*entry);
  if (ec && ec != std::errc::no_such_file_or_directory) reading_failure("list", folder, ec.value());
  std::sort(entries.begin(), entries.end());
  return entries;
}

namespace {

struct Failure {
  const char* action = "";
  int error = 0;
};

// bytes of an input that is not a plain file
constexpr std::size_t kLongestStream = std::size_t{128} << 20;

/// Called before memory is allocated: a sparse file may have any size.
void require_fits(off_t bytes, const fs::path& path) {
  const std::uint64_t memory =
      std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGE_SIZE));
  require(std::uint64_t(bytes) < memory,
          fmt::format("{} holds {} bytes, more than this machine's memory", path.string(), bytes),
          "it is read as a whole", "name another file, or split it");
}

/// Whether bytes or the end have arrived in time; -1 waits without limit.
bool has_come(int fd, int longest_ms) {
  pollfd wait{fd, POLLIN, 0};
  return uninterrupted([&] { return ::poll(&wait, 1, longest_ms); }) > 0;
}

Failure read_into(std::string& content, const fs::path& path) {
  Descriptor file(path, kOpenToRead);
  if (file < 0) return {"open", errno};
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return {"look at", errno};
  require(!S_ISDIR(facts.st_mode), fmt::format("{} is a folder", path.string()), "a file is needed",
          "name the file inside it");
  constexpr std::size_t kLeast = 4096;  // for a file that does not report its size, as in /proc
  require_fits(facts.st_size, path);
  content.resize(std::max<std::size_t>(std::size_t(facts.st_size) + 1, kLeast));
  constexpr int kPatience_ms = 500;
  bool is_new = S_ISFIFO(facts.st_mode);  // the pipe may not have its writer yet
  for (std::size_t end = 0;;) {
    const ssize_t n =
        uninterrupted([&] { return ::read(file, content.data() + end, content.size() - end); });
    if (n < 0 && errno == EAGAIN && has_come(file, -1)) continue;
    if (n < 0) return {"read", errno};
    end += std::size_t(n);
    if (n == 0 && std::exchange(is_new, false)) {
      require(has_come(file, kPatience_ms),
              fmt::format("{} is a pipe that nobody writes to", path.string()),
              "it would be waited for without end", "put the file itself there");
      continue;
    }
    is_new = false;
    if (n == 0) {
      content.resize(end);
      return {};
    }
    require(S_ISREG(facts.st_mode) || end < kLongestStream,
            fmt::format("{} gives more than {} bytes and is no plain file", path.string(),
                        kLongestStream),
            "a pipe or a device may never end", "write what is meant into a file and name that");
    if (end == content.size()) content.resize(2 * end);
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  // attempts: on NFS, a file that was replaced while it was opened must be opened again
  constexpr int kStale = 3;
  std::string content;
  Failure failure = read_into(content, path);
  for (int i = 0; i < kStale && failure.error == ESTALE; ++i) failure = read_into(content, path);
  if (failure.error != 0) reading_failure(failure.action, path, failure.error);
  refuse_lfs_pointer(content, path);
  return content;
}

void fsync_path(const fs::path& path) {
  const Descriptor file(path, O_RDONLY);
  if (file < 0) storage_failure("open for fsync", path, errno);
  sync(file, path);
}

void publish_file(const fs::path& temporary, const fs::path& final_path) {
  fsync_path(temporary);
  if (uninterrupted([&] { return ::rename(temporary.c_str(), final_path.c_str()); }) != 0)
    storage_failure("rename into place", final_path, errno);
  fsync_path(folder_of(final_path));
}

void write_file_synced(const fs::path& path, const FilePieces& next) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
  if (file < 0) storage_failure("create", path, errno);
  try {
    for (std::string_view piece = next(); !piece.empty(); piece = next())
      write_all(file, piece, path);
    sync(file, path);
    if (!file.close()) storage_failure("close", path, errno);
  } catch (const StorageError&) {
    ::unlink(path.c_str());
    throw;
  }
}

namespace {

FilePieces one_piece(std::string_view content) {
  return [rest = content]() mutable { return std::exchange(rest, {}); };
}

}  // namespace

FileContent::FileContent(std::string bytes) {
  const auto kept = std::make_shared<const std::string>(std::move(bytes));
  add(std::as_bytes(std::span(*kept)), kept);
}

void FileContent::add(std::span<const std::byte> borrowed, std::shared_ptr<const void> owner) {
  if (!borrowed.empty()) parts_.push_back({borrowed, std::move(owner)});
}

std::uint64_t FileContent::size() const {
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.bytes.size();
  return bytes;
}

FilePieces FileContent::pieces() const {
  // parts below this size are joined, to save calls
  constexpr std::size_t kTogether = std::size_t{1} << 20;
  return [this, next = std::size_t{0}, small = std::string()]() mutable -> std::string_view {
    small.clear();
    for (; next < parts_.size(); ++next) {
      const std::string_view part(reinterpret_cast<const char*>(parts_[next].bytes.data()),
                                  parts_[next].bytes.size());
      if (small.empty() && part.size() >= kTogether) return ++next, part;
      if (small.size() + part.size() > kTogether) break;
      small += part;
    }
    return small;
  };
}

std::uint64_t write_content_synced(const fs::path& path, const FileContent& content) {
  Checksum64 checksum;
  const FilePieces next = content.pieces();
  write_file_synced(path, FilePieces([&] {
                      const std::string_view piece = next();
                      checksum.add(std::as_bytes(std::span(piece)));
                      return piece;
                    }));
  return checksum.value();
}

void write_file_synced(const fs::path& path, std::string_view content) {
  write_file_synced(path, one_piece(content));
}
void write_file_atomic(const fs::path& path, std::string_view content) {
  write_file_atomic(path, one_piece(content));
}

void write_file_shown(const fs::path& path, std::string_view content) {
  write_file_shown(path, one_piece(content));
}

void write_file_shown(const fs::path& path, const FilePieces& next) {
  const fs::path temporary = path.string() + ".partial";
  write_file_synced(temporary, next);
  if (uninterrupted([&] { return ::rename(temporary.c_str(), path.c_str()); }) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    storage_failure("rename into place", path, error);
  }
}

void write_file_atomic(const fs::path& path, const FilePieces& next) {
  write_file_shown(path, next);
  fsync_path(folder_of(path));
}

void link_or_copy(const fs::path& from, const fs::path& to) {
  if (uninterrupted([&] { return ::link(from.c_str(), to.c_str()); }) == 0) return;
  switch (errno) {
    case EXDEV:
    case EPERM:
    case EOPNOTSUPP:
    case ENOSYS:
    case EMLINK: break;  // no links here, none between these files, or no more of them
    default: storage_failure("link", to, errno);
  }
  write_file_synced(to, read_file(from));
}

namespace {

/// Makes a folder, but not its parents. Returns 0 if it is there now, else the errno.
int folder_error(const fs::path& path) {
  if (uninterrupted([&] { return ::mkdir(path.c_str(), 0755); }) == 0) {
    fsync_path(folder_of(path));
    return 0;
  }
  const int error = errno;
  std::error_code ec;
  // Another rank made the folder first, and it may become visible late. Anything else of that name,
  // a file or a dangling link, is visible at once.
  const auto is_visible = [&] {
    return fs::symlink_status(path, ec).type() != fs::file_type::not_found && ec.value() != ESTALE;
  };
  if (error == EEXIST) wait_until_visible(is_visible);
  return fs::is_directory(path, ec) ? 0 : error;
}

}  // namespace

void make_folder(const fs::path& path) {
  std::error_code ec;
  if (path.empty() || fs::is_directory(path, ec)) return;
  int error = folder_error(path);
  if (error == ENOENT && folder_of(path) != path) {
    make_folder(folder_of(path));
    error = folder_error(path);  // once: /proc says ENOENT for every name that it does not know
  }
  if (error != 0) storage_failure("create folder", path, error);
}

namespace {

/// Tries flock() without waiting. Returns 0 or the errno, which is EWOULDBLOCK if another process
/// has the lock.
int lock_error(int fd, int operation) {
  const int result = uninterrupted([&] { return ::flock(fd, operation | LOCK_NB); });
  return result == 0 ? 0 : errno;
}

/// Whether this errno of flock() means that the file system has no locks, as Lustre mounted without
/// -o flock and NFS without its lock service.
bool means_no_locks(int error) {
  return error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK || error == EINVAL;
}

[[noreturn]] void refuse_without_locks(const fs::path& folder, int error) {
  throw EnvironmentError(error_message(
      fmt::format("the file system of run folder {} has no file locks: {}", folder.string(),
                  std::strerror(error)),
      "two jobs could write one run and neither would notice",
      "mount it with file locks (Lustre: -o flock, NFS: with lockd), or choose a run.dir on another file system"));
}

}  // namespace

/// Tries for a moment, since is_held() holds the lock for an instant.
int FolderLock::take() const {
  constexpr int kPauses = 20;
  constexpr auto kPause = std::chrono::milliseconds(5);
  int error = lock_error(fd_, LOCK_EX);
  for (int pause = 0; error == EWOULDBLOCK && pause < kPauses; ++pause) {
    std::this_thread::sleep_for(kPause);
    error = lock_error(fd_, LOCK_EX);
  }
  return error;
}

FolderLock::FolderLock(const fs::path& folder, std::string_view holder) {
  require_no_planted_links(folder);  // the holder of the lock is going to write
  const fs::path path = folder / ".lock";
  fd_ = uninterrupted(
      [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644); });
  if (fd_ < 0) storage_failure("open", path, errno);
  if (const int error = take(); error != 0) {
    const std::string other = error == EWOULDBLOCK ? read_file(path) : "";
    ::close(fd_);
    if (means_no_locks(error)) refuse_without_locks(folder, error);
    if (error != EWOULDBLOCK) storage_failure("lock", path, error);
    throw EnvironmentError(
        error_message(fmt::format("run folder {} is in use by {}", folder.string(),
                                  other.empty() ? "another job" : other),
                      "two jobs would overwrite each other's rollouts",
                      "wait for it, stop it, or choose another run.dir"));
  }
  // Each call is repeated on its own: if two were repeated together, signals could interrupt them
  // in turn forever.
  if (uninterrupted([&] { return ::ftruncate(fd_, 0); }) != 0 ||
      uninterrupted([&] { return ::pwrite(fd_, holder.data(), holder.size(), 0); }) < 0) {
    const int error = errno;
    ::close(fd_);  // the destructor does not run after a throw
    storage_failure("write", path, error);
  }
}

bool FolderLock::is_held(const fs::path& folder) {
  const Descriptor file(folder / ".lock", kOpenToRead);
  if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) return false;  // no job has started there
  if (file < 0) reading_failure("open", folder / ".lock", errno);
  const int error = lock_error(file, LOCK_SH);
  if (error != 0 && error != EWOULDBLOCK && !means_no_locks(error))
    reading_failure("lock", folder / ".lock", error);
  return error == EWOULDBLOCK;  // without locks no process can hold one
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace rollcall
