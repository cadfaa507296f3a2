// Hyperslab writes through MPI-IO and their verification.
#include "io/stretch_file.hpp"

#include "base/error.hpp"
#include "io/mapped_file.hpp"
#include "io/segment.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace rollcall::io {
namespace {

std::uint64_t components_of(const Column& column, const Stretch& stretch) { return column.by_component ? stretch.length[index(Dim::component)] : 1; }

void write_stretch(hid_t file, const ColumnView& view, const Stretch& mine, hid_t transfer) {
  const Handle dataset = open_column(file, view.column);
  const Handle in_file(H5Dget_space(dataset), "get space of", view.column.name);
  if (H5Sget_simple_extent_npoints(in_file) == 0) return;  // empty on every rank: it has no storage, and a collective write of nothing fails on it
  const std::array<hsize_t, 2> begin{mine.begin[index(view.column.rows)], 0};
  const std::array<hsize_t, 2> count{mine.length[index(view.column.rows)], components_of(view.column, mine)};
  const Handle in_memory(H5Screate_simple(view.column.by_component ? 2 : 1, count.data(), nullptr), "make space");
  if (view.elements > 0) {
    check(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr), "select stretch of", view.column.name);
  } else {  // a rank without rows takes part in the collective all the same
    check(H5Sselect_none(in_file), "select nothing of", view.column.name);
    check(H5Sselect_none(in_memory), "select nothing of", view.column.name);
  }
  check(H5Dwrite(dataset, file_type(view.type), in_memory, in_file, transfer, view.bytes.data()), "write", path_of(view.column));
}

/// The column as it lies in the file: contiguous, little-endian, not filtered.
std::span<const std::byte> stored_bytes(hid_t dataset, std::span<const std::byte> file, const std::string& name) {
  const haddr_t at = H5Dget_offset(dataset);
  const std::uint64_t length = H5Dget_storage_size(dataset);
  if (at == HADDR_UNDEF) return {};  // an empty column has no storage
  if (at > file.size() || length > file.size() - at) throw FileFault(fmt::format("{} ends behind the file", name));
  return file.subspan(at, length);
}

}  // namespace

void reserve_space(const std::filesystem::path& path, std::span<const ColumnView> columns, const Extents& extents) {
  std::uint64_t bytes = 1 << 16;  // metadata, and the rounding of HDF5's allocator
  for (const ColumnView& view : columns)
    bytes += H5Tget_size(file_type(view.type)) * extents[index(view.column.rows)] * (view.column.by_component ? extents[index(Dim::component)] : 1);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  if (fd >= 0) {
    const off_t size = ::lseek(fd, 0, SEEK_END);
    error = size < 0 ? errno : ::posix_fallocate(fd, 0, size + off_t(bytes));
    ::close(fd);
  }
  require<StorageError>(error == 0, fmt::format("cannot reserve {} bytes for {}: {}", bytes, path.string(), std::strerror(error)),
                        "the shards could not be packed; they stay as they are", "check free space and quota");
}

void fill_stretches(const std::filesystem::path& path, std::span<const ColumnView> columns, const Stretch& mine, const void* mpi_communicator) {
  const Handle access = file_properties();
  const Handle transfer(H5Pcreate(H5P_DATASET_XFER), "make transfer properties");
  if (mpi_communicator != nullptr) {
    check(H5Pset_fapl_mpio(access, *static_cast<const MPI_Comm*>(mpi_communicator), MPI_INFO_NULL), "choose MPI-IO");
    check(H5Pset_all_coll_metadata_ops(access, true), "let one rank read the metadata for all");
    check(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "choose collective transfer");
  }
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access), "open");
  std::string fault;
  for (const ColumnView& view : columns) {
    try {
      write_stretch(file, view, mine, transfer);
    } catch (const FileFault& first) {
      if (fault.empty()) fault = first.what();
    }
  }
  // MPI_File_sync under MPI-IO: what other nodes wrote must be on the server before rank 0 reads it.
  if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 && fault.empty()) fault = "cannot flush";
  file.close("close");
  start_writeback(path);
  if (!fault.empty()) throw FileFault(fault);
}

void seal_columns(const std::filesystem::path& path, std::span<const ColumnView> columns, std::span<const Stretch> stretches,
                  std::span<const std::vector<std::uint64_t>> checksums) {
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, file_properties()), "open");
  const MappedFile mapped(path);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Column& column = columns[c].column;
    const Handle dataset = open_column(file, column);
    const auto bytes = stored_bytes(dataset, mapped.bytes(), path_of(column));
    const std::size_t width = H5Tget_size(file_type(columns[c].type)), dim = index(column.rows);
    for (std::size_t rank = 0; rank < stretches.size(); ++rank) {
      const std::size_t row = width * components_of(column, stretches[rank]), begin = row * stretches[rank].begin[dim], length = row * stretches[rank].length[dim];
      if (begin + length > bytes.size() || checksum64(bytes.subspan(begin, length)) != checksums[rank][c])
        throw FileFault(fmt::format("{} reads back otherwise than rank {} wrote it", path_of(column), rank));
    }
    write_checksum(dataset, stretches.size() == 1 ? checksums[0][c] : checksum64(bytes));
    write_segments(dataset, bytes);
  }
  file.close("close");
}

}  // namespace rollcall::io
