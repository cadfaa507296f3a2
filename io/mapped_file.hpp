// A file that is mapped into memory. Reading it needs no copy and no process memory. Private to io.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace rollcall::io {

/// Only for files that no program truncates in the meantime. These are published files, and files
/// that this process is writing. Throws FileFault.
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
/// processor computes checksums. It is a hint, so its result is ignored.
void start_writeback(const std::filesystem::path& path);

}  // namespace rollcall::io
