// Writes the packed file from several ranks, each of which writes its stretch of every column.
// Private to io.
#pragma once

#include "io/column_pieces.hpp"

#include <filesystem>
#include <span>
#include <vector>

namespace rollcall::io {

/// The place of a rank's rows in the file.
struct Stretch {
  Extents begin{}, length{};
};

/// Reserves the disk space that the columns need at these extents, so that one rank notices a full
/// disk before the collective writes and outside of HDF5. Throws StorageError.
void reserve_space(const std::filesystem::path& path, std::span<const ColumnView> columns,
                   const Extents& extents);

/// Writes this rank's stretch of every column into a file written with Values::later, in pieces of
/// a few MiB; `stretches` are those of all ranks. It is collective over `mpi_communicator` (pointer
/// to an MPI_Comm), and serial when that is null. Returns the checksum of every column's bytes as
/// they were passed in. Throws FileFault; with a communicator the other ranks are then stuck inside
/// HDF5, and the caller must end the job. A write that fails in the flush or the close, which
/// several ranks cannot leave, ends this process (comm::end_process).
std::vector<std::uint64_t> fill_stretches(const std::filesystem::path& path,
                                          std::span<const ColumnPieces> columns,
                                          std::span<const Stretch> stretches, int rank,
                                          const void* mpi_communicator);

/// Reads every column back, compares each rank's stretch with the checksum that the rank computed
/// in memory ([ranks][columns]), and records the checksum of the whole column in the file. Throws
/// FileFault.
void seal_columns(const std::filesystem::path& path, std::span<const ColumnView> columns,
                  std::span<const Stretch> stretches,
                  std::span<const std::vector<std::uint64_t>> checksums);

}  // namespace rollcall::io
