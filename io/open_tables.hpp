// The only function that opens HDF5 files for reading. A file from elsewhere may be crafted to
// refer to other files, to crash the library or to keep it busy forever. Private to io.
#pragma once

#include "io/handle.hpp"

#include <cstdint>
#include <filesystem>

namespace rollcall::io {

/// Refuses anything other than a plain file, because opening a pipe would block. It also refuses
/// everything that Rollcall never writes: links by name, external storage, virtual data sets,
/// chunks and their filters. Where files may come from others (io/origin.hpp), a child process
/// reads the structure first. Throws FileFault.
Handle open_tables(const std::filesystem::path& path);

/// Size of a plain file in bytes. Throws FileFault for anything else, filesystem_error if there is
/// no file.
std::uintmax_t plain_size(const std::filesystem::path& path);

}  // namespace rollcall::io
