// Private to the model: a file's bytes where the kernel keeps them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace rollcall::model {

/// A file of somebody else, mapped. One that is cut short or whose disk fails meanwhile would end
/// the process by a signal (SIGBUS) at the first touch of a lost page; load() finds that out before
/// the touch, so only what happens between the two, a matter of milliseconds, still does. (Before
/// Linux 5.14 load() can only look at the size: a page that the disk does not give ends the
/// process.)
class MappedFile {
 public:
  explicit MappedFile(
      const std::filesystem::path& path);  ///< throws InputError or UnreadableError naming the file
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  void load(std::span<const std::byte> part) const;  ///< reads the pages of `part`; throws
                                                     ///< UnreadableError where they can no longer
                                                     ///< be read
  void release(std::span<const std::byte> part) const;  ///< gives the memory of these pages back;
                                                        ///< they can be loaded again

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::span<const std::byte> bytes_;
};

}  // namespace rollcall::model
