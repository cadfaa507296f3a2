// The one way by which HDF5 files are opened for reading: a file that somebody sends may be made to
// lead elsewhere, to crash the library or to keep it busy for ever. Private to io.
#pragma once

#include "io/handle.hpp"

#include <cstdint>
#include <filesystem>

namespace rollcall::io {

/// Refuses what is no plain file (a pipe would be waited for) and all that a file of ours never
/// has:
/// links by name, external storage, virtual data sets, chunks and their filters. Where files are
/// others' (io/origin.hpp), a child process reads its structure first. Throws FileFault.
Handle open_tables(const std::filesystem::path& path);

/// Bytes of a plain file; throws FileFault for anything else, filesystem_error where it is not
/// there.
std::uintmax_t plain_size(const std::filesystem::path& path);

}  // namespace rollcall::io
