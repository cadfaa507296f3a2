// Whether the files that are read were written by this run or may come from others.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rollcall::io {

/// Commands read unknown files, so they use `others`. HDF5 1.10 crashes or loops on some damaged
/// structures, so a child process with a limit on processor time reads the structure of each file
/// first. A job reads the files that it has just written, and its ranks hold devices, so it uses
/// `own`.
enum class Origin : std::uint8_t { own, others };
void read_files_of(Origin origin);

/// Lets a child process read the structure of one file, for either origin. Throws StorageError.
void look_through(const std::filesystem::path& file);

}  // namespace rollcall::io
