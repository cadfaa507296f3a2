// Appends to a file through a descriptor and checks every call. When append() returns, the kernel
// has the bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace rollcall::report {

int open_append(const std::filesystem::path& path);  ///< creates the file if it is missing; throws
                                                     ///< StorageError
/// Writes all bytes; throws StorageError.
void append(int fd, std::string_view bytes, const std::filesystem::path& path);
/// Makes what was appended durable with fdatasync. Throws StorageError.
void make_durable(int fd, const std::filesystem::path& path);
/// Cuts the file to `bytes`. Throws StorageError.
void truncate(int fd, std::uint64_t bytes, const std::filesystem::path& path);

}  // namespace rollcall::report
