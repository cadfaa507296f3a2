// memfd files, which are opened through /proc and identified by their inode.
#include "comm/shared_pages.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

namespace rollcall::comm {
namespace {

/// Device and inode, which are unique in the kernel. A process of another namespace may have the
/// same process id, and another file under the same descriptor.
std::string numbers_of(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return "unknown";
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

[[noreturn]] void refuse(const char* call, std::size_t bytes) {
  throw EnvironmentError(
      error_message(fmt::format("{} of {} bytes failed: {}", call, bytes, std::strerror(errno)),
                    "the ranks of a node share their weights",
                    "give the job more memory, or start fewer ranks a node"));
}

}  // namespace

SharedMemory map_pages(std::size_t bytes, int file) {
  const std::size_t size = bytes == 0 ? 1 : bytes;
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
  if (pages == MAP_FAILED) refuse("mapping memory", bytes);
  ::madvise(pages, size, MADV_HUGEPAGE);  // a kernel may refuse; access is slower then
  return {{static_cast<std::byte*>(pages), bytes},
          std::shared_ptr<const void>(
              pages, [size](const void* p) { ::munmap(const_cast<void*>(p), size); })};
}

SharedPages::SharedPages(std::size_t bytes) : file_(::memfd_create("rollcall", MFD_CLOEXEC)) {
  if (file_ < 0 || ::ftruncate(file_, off_t(bytes == 0 ? 1 : bytes)) != 0) {
    const int code = errno;
    if (file_ >= 0) ::close(file_);
    errno = code;
    refuse("making shared memory", bytes);
  }
}

SharedPages::~SharedPages() { ::close(file_); }

std::string SharedPages::address() const {
  return fmt::format("/proc/{}/fd/{} {}", ::getpid(), file_, numbers_of(file_));
}

std::optional<SharedMemory> open_pages(const std::string& address, std::size_t bytes) {
  std::istringstream words(address);
  std::string path, numbers;
  words >> path >> numbers;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<SharedMemory> memory;
  if (numbers_of(file) == numbers) memory = map_pages(bytes, file);
  ::close(file);
  return memory;
}

}  // namespace rollcall::comm
