// Whether the files that are read are this run's own or may be anybody's.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rollcall::io {

/// Commands read files of which they know nothing: `others`. HDF5 1.10 crashes or loops on some
/// damaged structures, so a child process with a limit of processor time reads each file's
/// structure
/// before this one does. A job reads what it has just written, and its ranks hold devices: `own`.
enum class Origin : std::uint8_t { own, others };
void read_files_of(Origin origin);

/// The child's look at one file, whatever the origin. Throws StorageError.
void look_through(const std::filesystem::path& file);

}  // namespace rollcall::io
