// A file's bytes where the kernel keeps them: reading costs no copy and no memory of our own.
// Private to io.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace rollcall::io {

/// Only for files that nobody shortens meanwhile: published ones, and our own before that. Throws
/// FileFault.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Asks the kernel to begin writing the file's dirty pages, so that the disk works while the
/// processor checks. Only a hint: what it says is not looked at.
void start_writeback(const std::filesystem::path& path);

}  // namespace rollcall::io
