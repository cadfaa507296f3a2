// Maps a file, and finds pages that can no longer be read before an access ends the process.
#include "model/support/mapped_file.hpp"

#include "base/files/file.hpp"
#include "base/files/plain_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rollcall::model {
namespace {

/// The whole pages around `part` of the mapping at `begin`.
std::pair<void*, std::size_t> pages(const std::byte* begin, std::span<const std::byte> part) {
  static const auto page = std::size_t(::sysconf(_SC_PAGESIZE));
  const auto first = std::size_t(part.data() - begin) / page * page,
             end = std::size_t(part.data() - begin) + part.size();
  return {const_cast<std::byte*>(begin) + first, end - first};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
    : path_(path), fd_(::open(path.c_str(), kOpenToRead)) {
  if (fd_ < 0) reading_failure("open", path, errno);
  const std::string kind = what_else(fd_);
  if (!kind.empty()) ::close(fd_);
  require(kind.empty(), fmt::format("{} is {}", path.string(), kind), "a plain file is needed",
          "put the file itself there");
  struct stat facts {};
  const bool known = ::fstat(fd_, &facts) == 0;
  void* const begin = known && facts.st_size > 0 ? ::mmap(nullptr, std::size_t(facts.st_size),
                                                          PROT_READ, MAP_SHARED, fd_, 0)
                                                 : nullptr;
  if (!known || begin == MAP_FAILED) {
    const int error = errno;
    ::close(fd_);
    reading_failure("map", path, error);
  }
  if (begin != nullptr) bytes_ = {static_cast<const std::byte*>(begin), std::size_t(facts.st_size)};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(fd_);
}

void MappedFile::load(std::span<const std::byte> part) const {
  if (part.empty()) return;
  struct stat facts {};
  bool whole = ::fstat(fd_, &facts) == 0 && std::size_t(facts.st_size) >= bytes_.size();
#ifdef MADV_POPULATE_READ  // since Linux 5.14; older kernels read pages at the first access
  const auto [first, size] = pages(bytes_.data(), part);
  whole = whole && (::madvise(first, size, MADV_POPULATE_READ) == 0 || errno != EFAULT);
#endif
  if (!whole) {
    throw UnreadableError(
        error_message(fmt::format("{} was cut short or can no longer be read", path_.string()),
                      "its tensors were about to be read",
                      "leave the file alone while it is read, and check its disk"));
  }
}

void MappedFile::release(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const auto [first, size] = pages(bytes_.data(), part);
  ::madvise(first, size, MADV_DONTNEED);  // the file keeps the bytes
}

}  // namespace rollcall::model
