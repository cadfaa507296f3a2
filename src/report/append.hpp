// Appending to a file through a descriptor, each call checked: a row is in the kernel's hands when
// append() returns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace rollcall::report {

int open_append(const std::filesystem::path& path);  ///< creates it when missing; throws
                                                     ///< StorageError
/// all bytes; throws StorageError
void append(int fd, std::string_view bytes, const std::filesystem::path& path);
/// fdatasync; throws StorageError
void make_durable(int fd, const std::filesystem::path& path);
/// throws StorageError
void truncate(int fd, std::uint64_t bytes, const std::filesystem::path& path);

}  // namespace rollcall::report
