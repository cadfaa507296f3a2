// Durable files: atomic publication, whole-file reads, and the lock that keeps a second job out of
// a run folder.
#pragma once

#include "base/errors/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// A file exists but cannot be read. Its content is unknown, so it must not be called damaged. The
/// exit code is `misconfigured` if permissions are at fault.
struct UnreadableError : Error {
  explicit UnreadableError(const std::string& m, ExitCode code = ExitCode::failed)
      : Error(code, m) {}
};

/// One complete message for the user about any exception, including those of std::filesystem.
std::string message_of(const std::exception& error);

/// The exit code of a command that ends with the exception. A path that the file system refuses
/// because of its name or missing rights is `misconfigured`, since another start would fail the
/// same way.
ExitCode exit_code_of(const std::exception& error);

/// Reads a whole file. Throws InputError naming the file if it does not exist, is a folder, exceeds
/// the machine's memory, or is a pipe or device that gives nothing or does not end. Throws
/// UnreadableError if it cannot be read, LfsPointerError if Git left a pointer in its place.
std::string read_file(const std::filesystem::path& path);

/// Throws InputError or UnreadableError, depending on this errno of a failed read. `action` is
/// "open" or "read".
[[noreturn]] void reading_failure(const char* action, const std::filesystem::path& path, int error);

/// Called after the last read of standard input. Throws InputError if the read did not stop at the
/// end of the input.
void require_end_of_input();

/// The entries of a folder, sorted by name; empty if it does not exist. Throws UnreadableError for
/// a folder that cannot be read, which is not an empty one.
std::vector<std::filesystem::directory_entry> list_folder(const std::filesystem::path& folder);

/// Makes a finished temporary file durable under its final name: fsync of the file, rename, fsync
/// of the folder. After the function returns, the file survives a power cut; before that,
/// `final_path` is untouched. Throws StorageError.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& final_path);

/// The content of a file in pieces. Each call returns the next piece, which stays valid until the
/// following call. An empty piece marks the end.
using FilePieces = std::function<std::string_view()>;

/// Writes the content to a temporary file beside `path` and publishes it. A failure leaves `path`
/// as it was and no temporary file.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);
void write_file_atomic(const std::filesystem::path& path, const FilePieces& next);
/// Like write_file_atomic(), but the name becomes durable only with an fsync of the folder, which
/// can serve many files at once.
void write_file_shown(const std::filesystem::path& path, const FilePieces& next);
void write_file_shown(const std::filesystem::path& path, std::string_view content);

/// The content of a file to be written, in parts: its own bytes, and bytes elsewhere in memory that
/// are not copied.
class FileContent {
 public:
  FileContent(std::string bytes);  // NOLINT(google-explicit-constructor): most files are one string
  /// Adds bytes without copying them. `owner`, which keeps them alive, lives as long as this
  /// object.
  void add(std::span<const std::byte> borrowed, std::shared_ptr<const void> owner);
  std::uint64_t size() const;
  FilePieces pieces() const;  ///< in order, small parts joined; this object must outlive them

 private:
  struct Part {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  std::vector<Part> parts_;
};

/// Like write_file_synced(). Returns the content's XXH3-64.
std::uint64_t write_content_synced(const std::filesystem::path& path, const FileContent& content);

/// Writes a file in place and makes its content durable. Its name becomes durable with an fsync of
/// the folder. A failure leaves no file. Throws StorageError.
void write_file_synced(const std::filesystem::path& path, std::string_view content);
void write_file_synced(const std::filesystem::path& path, const FilePieces& next);

/// Gives a second name to a file that will not change. If the file system has no links, or allows
/// no more of them, makes a copy like write_file_synced(). Throws StorageError.
void link_or_copy(const std::filesystem::path& from, const std::filesystem::path& to);

void fsync_path(const std::filesystem::path& path);  ///< fsync of a file or folder; throws
                                                     ///< StorageError
/// Makes a folder and its parents (mkdir -p), each new name durable. Waits for a folder that
/// another rank made and that is not visible here yet. Throws StorageError with the reason.
void make_folder(const std::filesystem::path& path);

/// An exclusive advisory lock (flock) on `folder`/.lock, held until destruction and released by the
/// kernel when the process dies.
class FolderLock {
 public:
  /// Throws EnvironmentError if another job has the folder, naming its holder, or if the file
  /// system has no locks; StorageError for any other problem.
  FolderLock(const std::filesystem::path& folder, std::string_view holder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  /// Whether a process holds the lock now; false if the file system has no locks. Throws
  /// UnreadableError if that cannot be determined.
  static bool is_held(const std::filesystem::path& folder);

 private:
  int take() const;  ///< 0, or the errno of flock()
  int fd_ = -1;
};

}  // namespace rollcall
