// Git LFS pointers: three lines of text that Git leaves in place of a large file that was not
// downloaded (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md). They are refused where
// weights or questions are expected.
#pragma once

#include "base/errors/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace rollcall {

/// Not an InputError, so that readers that catch those and reword them for their own files let it
/// pass.
struct LfsPointerError : Error {
  explicit LfsPointerError(const std::string& message) : Error(ExitCode::misconfigured, message) {}
};

/// Throws LfsPointerError if `content`, read from `path`, is a pointer.
void refuse_lfs_pointer(std::string_view content, const std::filesystem::path& path);
/// Throws LfsPointerError if the file, which has not been read yet, is a pointer. Does nothing if
/// the file does not exist. A file of 1 KiB or more cannot be a pointer and is not opened.
void refuse_lfs_pointer(const std::filesystem::path& path);

}  // namespace rollcall
