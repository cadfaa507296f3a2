// Maps files with mmap, and starts writes with sync_file_range.
#include "io/mapped_file.hpp"

#include "base/files/plain_file.hpp"
#include "io/handle.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rollcall::io {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), kOpenToRead);
  const std::string kind = fd < 0 ? "" : what_else(fd);
  if (!kind.empty()) ::close(fd);
  if (!kind.empty()) throw FileFault(fmt::format("it is {}, where a plain file is needed", kind));
  const off_t size = fd < 0 ? -1 : ::lseek(fd, 0, SEEK_END);
  void* const begin =
      size > 0 ? ::mmap(nullptr, std::size_t(size), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (size == 0) return;
  if (begin == MAP_FAILED) {
    const std::string words = fmt::format("cannot map it: {}", std::strerror(error));
    if (error == ENOENT) throw FileFault(words);
    throw UnreadableFault(words);
  }
  // Since Linux 5.14. A failing disk is an error here instead of a SIGBUS later.
#ifdef MADV_POPULATE_READ
  if (::madvise(begin, std::size_t(size), MADV_POPULATE_READ) != 0 && errno == EFAULT) {
    ::munmap(begin, std::size_t(size));
    throw UnreadableFault(
        "cannot read it: the disk or the file system fails, or the file is being cut short");
  }
#endif
  ::madvise(begin, std::size_t(size), MADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(begin), std::size_t(size)};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void start_writeback(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  ::close(fd);
}

}  // namespace rollcall::io
