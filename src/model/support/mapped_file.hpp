// Private to the model: a file mapped into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace rollcall::model {

/// A mapped file that other programs may change. If it is truncated or its disk fails, the first
/// access to a lost page would end the process with the signal SIGBUS. load() detects that before
/// the access, so that only a failure in the milliseconds between the two still ends the process.
/// Before Linux 5.14 load() can only check the size of the file, so an unreadable page also ends
/// the process.
class MappedFile {
 public:
  /// Throws InputError or UnreadableError naming the file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Reads the pages of `part`. Throws UnreadableError if they can no longer be read.
  void load(std::span<const std::byte> part) const;
  /// Gives back the memory of the pages of `part`. They can be loaded again.
  void release(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::span<const std::byte> bytes_;
};

}  // namespace rollcall::model
