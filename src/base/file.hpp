// Durable files: atomic publication, whole-file reads, and the lock that keeps a second job out of
// a run folder.
#pragma once

#include "base/error.hpp"

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

/// A file cannot be read although it is there: what it holds is not known, so it is not to be
/// called damaged. `misconfigured` where permissions are at fault.
struct UnreadableError : Error {
  explicit UnreadableError(const std::string& m, ExitCode code = ExitCode::failed)
      : Error(code, m) {}
};

/// What the user is told of any exception, those of std::filesystem included: one complete message.
std::string message_of(const std::exception& error);

/// Reads a whole file. Throws InputError naming the file when it is not there, UnreadableError when
/// it cannot be read, LfsPointerError where Git left a pointer.
std::string read_file(const std::filesystem::path& path);

/// Throws what a failed read means for its errno: InputError or UnreadableError. `action`: "open",
/// "read".
[[noreturn]] void reading_failure(const char* action, const std::filesystem::path& path, int error);

/// Behind the last read of standard input: throws InputError where that was not its end.
void require_end_of_input();

/// What a folder holds, by name; nothing when it is not there. Throws UnreadableError: a folder
/// that cannot be read is not an empty one.
std::vector<std::filesystem::directory_entry> list_folder(const std::filesystem::path& folder);

/// Makes a finished temporary file durable under its final name: fsync of the file, rename, fsync
/// of the folder.
/// After a return the file survives a power cut; before it, `final_path` is untouched. Throws
/// StorageError.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& final_path);

/// The content of a file piece by piece: each call gives the next one, which stays valid until the
/// call after it. An empty piece is the end.
using FilePieces = std::function<std::string_view()>;

/// Writes the content beside `path` and publishes it. A failure leaves `path` as it was and nothing
/// beside it.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);
void write_file_atomic(const std::filesystem::path& path, const FilePieces& next);
/// The same, but for the name: it is durable after an fsync of the folder, which one call can do
/// for many files.
void write_file_shown(const std::filesystem::path& path, const FilePieces& next);
void write_file_shown(const std::filesystem::path& path, std::string_view content);

/// What a file is to hold, in parts: bytes of its own, and bytes that lie elsewhere and are not
/// copied.
class FileContent {
 public:
  FileContent(std::string bytes);  // NOLINT(google-explicit-constructor): most files are one string
  /// `owner` lives as long as this
  void add(std::span<const std::byte> borrowed, std::shared_ptr<const void> owner);
  std::uint64_t size() const;
  FilePieces pieces() const;  ///< in order, small parts together; this must outlive them

 private:
  struct Part {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  std::vector<Part> parts_;
};

/// As write_file_synced; returns the content's XXH3-64.
std::uint64_t write_content_synced(const std::filesystem::path& path, const FileContent& content);

/// Writes a file in place and makes its content durable; its name is so after an fsync of the
/// folder. A failure leaves no file. Throws StorageError.
void write_file_synced(const std::filesystem::path& path, std::string_view content);
void write_file_synced(const std::filesystem::path& path, const FilePieces& next);

/// A second name for a file that will not change; where the file system has no links (or no more of
/// them) a copy, made like write_file_synced. Throws StorageError.
void link_or_copy(const std::filesystem::path& from, const std::filesystem::path& to);

void fsync_path(const std::filesystem::path& path);  ///< fsync of a file or folder; throws
                                                     ///< StorageError
/// mkdir -p, each new name durable; one that another rank made is waited for where it shows late.
/// Throws StorageError with the reason.
void make_folder(const std::filesystem::path& path);

/// An exclusive advisory lock (flock) on `folder`/.lock, held until destruction and released by the
/// kernel when the process dies.
class FolderLock {
 public:
  /// Throws EnvironmentError naming the holder when another job has the folder, or saying that its
  /// file system has no locks; StorageError for any other trouble.
  FolderLock(const std::filesystem::path& folder, std::string_view holder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  /// Whether a process holds it now; false where the file system has no locks. Throws
  /// UnreadableError where that cannot be known.
  static bool is_held(const std::filesystem::path& folder);

 private:
  int take() const;  ///< 0, or the errno of flock()
  int fd_ = -1;
};

}  // namespace rollcall
