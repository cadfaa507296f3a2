// What Git leaves in the place of a large file that Git LFS keeps elsewhere: a text of three lines
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md), where weights or questions are
// meant.
#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace rollcall {

/// No InputError: readers that word those anew for their own files let it pass.
struct LfsPointerError : Error {
  explicit LfsPointerError(const std::string& message) : Error(ExitCode::misconfigured, message) {}
};

/// Throws LfsPointerError where the content of `path` is such a text.
void refuse_lfs_pointer(std::string_view content, const std::filesystem::path& path);
/// The same of a file that is not read yet; does nothing where it is not there. Files of a kibibyte
/// and more are none, and are not opened.
void refuse_lfs_pointer(const std::filesystem::path& path);

}  // namespace rollcall
