// Several threads make the files. They are not fsynced, because the pages can be made again.
#include "view/folder.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "report/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace rollcall::view {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMark = "rollcall-view.txt";
constexpr const char* kMarkText =
    "Pages that `rollcall view` wrote. A later `rollcall view --out` to this folder replaces all "
    "of it.\n";
constexpr unsigned kThreads = 4;  // most threads that make files; only one reads at a time

std::atomic<int> stopped_by{0};
static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler may only change lock-free
                                                       // variables

/// While an object lives, SIGINT and SIGTERM only set `stopped_by`.
class SignalGuard {
 public:
  SignalGuard() {
    struct sigaction act {};
    act.sa_handler = [](int signal) { stopped_by = signal; };
    ::sigaction(SIGINT, &act, &before_int_), ::sigaction(SIGTERM, &act, &before_term_);
  }
  ~SignalGuard() {
    ::sigaction(SIGINT, &before_int_, nullptr), ::sigaction(SIGTERM, &before_term_, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  struct sigaction before_int_ {
  }, before_term_{};
};

[[noreturn]] void fail(const char* action, const fs::path& path, int error) {
  throw StorageError(
      error_message(fmt::format("cannot {} {}: {}", action, path.string(), std::strerror(error)),
                    "the pages would not be complete", "check free space, quota and permissions"));
}

bool is_own(const fs::path& folder) { return fs::is_regular_file(folder / kMark); }

}  // namespace

void require_own_pages(const fs::path& folder) {
  require(!fs::exists(fs::symlink_status(folder)) || is_own(folder),
          fmt::format("{} exists and was not written by rollcall view", folder.string()),
          "it would be replaced", "name a folder that does not exist yet");
}

namespace {

/// The folder with the suffix ".partial", locked by this process. The destructor removes whatever
/// has that name by then: an unfinished site, or the earlier site if publish() has exchanged the
/// two names.
class PartialFolder {
 public:
  explicit PartialFolder(const fs::path& folder) : path_(folder.string() + ".partial") {
    std::error_code ec;
    const bool fresh = fs::create_directory(path_, ec);
    if (ec) fail("create", path_, ec.value());
    fd_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd_ < 0) fail("open", path_, errno);
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd_);
      throw EnvironmentError(
          error_message(fmt::format("another rollcall view writes {}", path_.string()),
                        "both would write the same files", "wait for it to end"));
    }
    if (fresh) write(kMark, kMarkText);
    else clear();
  }
  ~PartialFolder() {
    std::error_code ignored;
    if (!published_) fs::remove_all(path_, ignored);
    ::close(fd_);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  void write(const std::string& name, const std::string& content) const {
    const fs::path path = path_ / name;
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) fail("create", path, errno);
    const bool whole = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    const int error = errno;
    if (std::fclose(file) != 0 || !whole) fail("write", path, whole ? errno : error);
  }
  void make_folder(const std::string& name) const {
    std::error_code ec;
    fs::create_directories(path_ / name, ec);
    if (ec) fail("create", path_ / name, ec.value());
  }
  /// Renames the folder to its final name. If the file system cannot exchange two names, an earlier
  /// site is missing for a moment.
  void publish(const fs::path& folder) {
    require_own_pages(folder);
    // path_ holds the earlier site now, which is removed
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0)
      return;
    std::error_code ec;
    const fs::path old = folder.string() + ".old";
    const bool replaces = fs::exists(folder, ec);
    if (replaces) {
      require(!fs::exists(old, ec) || is_own(old),
              fmt::format("{} exists and was not written by rollcall view", old.string()),
              "the pages that are replaced would be put there for a moment", "move it away");
      fs::remove_all(old, ec);
      if (::rename(folder.c_str(), old.c_str()) != 0) fail("replace", folder, errno);
    }
    if (::rename(path_.c_str(), folder.c_str()) != 0) fail("rename to", folder, errno);
    published_ = true;
    if (replaces) fs::remove_all(old, ec);
  }

 private:
  /// Removes what a killed process left behind.
  void clear() {
    const bool own = is_own(path_);
    if (!own) published_ = true;  // a foreign folder must not be removed
    require(own || fs::is_empty(path_),
            fmt::format("{} exists and was not written by rollcall view", path_.string()),
            "pages are made there before they get their name",
            "move it away, or name another folder");
    published_ = false;
    for (const auto& entry : fs::directory_iterator(path_))
      if (entry.path().filename() != kMark) fs::remove_all(entry.path());
    write(kMark, kMarkText);
  }

  fs::path path_;
  int fd_ = -1;
  bool published_ = false;
};

struct Work {
  Site* site;
  const PartialFolder* folder;
  std::vector<std::string> names;
  std::int64_t steps = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int64_t> steps_done{0};
  std::mutex failing{};
  std::exception_ptr failure{};

  void run(report::Progress* progress) {
    try {
      for (std::size_t i = next++; i < names.size() && stopped_by == 0; i = next++) {
        const auto content = site->make(names[i]);
        if (!content) continue;  // the run has set the step aside in the meantime
        folder->write(names[i], *content);
        bytes += content->size();
        if (names[i].find("/step-") != std::string::npos) ++steps_done;
        if (progress != nullptr)
          progress->update(std::min<std::int64_t>(steps_done, steps - 1),
                           {{"MB", double(bytes) / 1e6}});
      }
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = names.size();
    }
  }
};

void make_all(Work& work) {
  for (const auto& name : work.names)
    work.steps += name.find("/step-") != std::string::npos ? 1 : 0;
  report::Progress progress("view", 0, std::max<std::int64_t>(work.steps, 1));
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < std::clamp(std::thread::hardware_concurrency(), 1U, kThreads); ++i)
      others.emplace_back([&work] { work.run(nullptr); });
    work.run(&progress);
  }
  if (work.failure) std::rethrow_exception(work.failure);
  if (stopped_by == 0)
    progress.update(std::max<std::int64_t>(work.steps, 1), {{"MB", double(work.bytes) / 1e6}});
}

}  // namespace

Written write_site(Site& site, const fs::path& named) {
  // "site/" has no file name
  const fs::path folder = named.has_filename() ? named : named.parent_path();
  require_own_pages(folder);
  const SignalGuard signals;
  PartialFolder partial(folder);
  Work work{.site = &site, .folder = &partial, .names = site.files()};
  for (const auto& name : work.names)
    if (const std::size_t slash = name.rfind('/'); slash != std::string::npos)
      partial.make_folder(name.substr(0, slash));
  make_all(work);
  if (stopped_by != 0)
    throw Error(
        ExitCode::requeue,
        error_message(fmt::format("stopped by {}", stopped_by == SIGINT ? "Ctrl-C" : "SIGTERM"),
                      fmt::format("{} is as it was before", folder.string()),
                      "the same command makes the pages"));
  partial.publish(folder);
  return {work.names.size(), work.bytes};
}

}  // namespace rollcall::view
