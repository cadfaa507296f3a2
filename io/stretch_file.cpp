// Writes hyperslabs through MPI-IO, and verifies them.
#include "io/stretch_file.hpp"

#include "base/errors/error.hpp"
#include "comm/communicator.hpp"
#include "io/mapped_file.hpp"
#include "io/segment.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace rollcall::io {
namespace {

constexpr std::size_t kPiece =
    std::size_t{8} << 20U;  // bytes per write: large enough for any disk, small enough to stay in
                            // cache while its checksum is computed
constexpr std::size_t kPiecesAhead = 8;                // pieces after which the disk is asked to
                                                       // start writing
constexpr std::size_t kBlock = std::size_t{1} << 20U;  // bytes that are processed several times
                                                       // while in cache

std::uint64_t row_bytes(const Column& column, ElementType type, const Stretch& stretch) {
  return width_of(type) * (column.by_component ? stretch.length[index(Dim::component)] : 1);
}

/// Writes one rank's part of a column, piece by piece.
class ColumnWriter {
 public:
  ColumnWriter(hid_t file, const ColumnPieces& column, const Stretch& mine, hid_t transfer)
      : dataset_(open_column(file, column.column)),
        in_file_(H5Dget_space(dataset_), "get space of", column.column.name),
        column_(column),
        mine_(mine),
        reader_(column),
        transfer_(transfer) {}
  bool is_empty() const { return H5Sget_simple_extent_npoints(in_file_) == 0; }

  void write(std::uint64_t rows, std::span<std::byte> buffer) {
    const Column& c = column_.column;
    const auto bytes = buffer.first(rows * row_bytes(c, column_.type, mine_));
    reader_.take(bytes);
    checksum_.add(bytes);
    const std::array<hsize_t, 2> begin{mine_.begin[index(c.rows)] + done_, 0},
        count{rows, c.by_component ? mine_.length[index(Dim::component)] : 1};
    const Handle in_memory(H5Screate_simple(c.by_component ? 2 : 1, count.data(), nullptr),
                           "make space");
    if (!bytes.empty()) {
      check(H5Sselect_hyperslab(in_file_, H5S_SELECT_SET, begin.data(), nullptr, count.data(),
                                nullptr),
            "select stretch of", c.name);
    } else {  // a rank without rows takes part in the collective as well
      check(H5Sselect_none(in_file_), "select nothing of", c.name);
      check(H5Sselect_none(in_memory), "select nothing of", c.name);
    }
    done_ += rows;
    check(H5Dwrite(dataset_, file_type(column_.type), in_memory, in_file_, transfer_, bytes.data()),
          "write", path_of(c));
  }
  std::uint64_t left() const { return mine_.length[index(column_.column.rows)] - done_; }
  std::uint64_t checksum() const { return checksum_.value(); }

 private:
  Handle dataset_, in_file_;
  const ColumnPieces& column_;
  const Stretch& mine_;
  PiecesReader reader_;
  hid_t transfer_;
  Checksum64 checksum_;
  std::uint64_t done_ = 0;  ///< rows written so far
};

/// The two ways to write. With `together`, ranks combine their small stretches into large writes.
/// With `alone`, each rank writes its own stretch, which is better once it is as large as a write
/// should be.
struct Transfers {
  Handle together, alone;
};

Transfers make_transfers(bool parallel) {
  Transfers t{Handle(H5Pcreate(H5P_DATASET_XFER), "make transfer properties"),
              Handle(H5Pcreate(H5P_DATASET_XFER), "make transfer properties")};
  if (parallel) {
    check(H5Pset_dxpl_mpio(t.together, H5FD_MPIO_COLLECTIVE), "choose collective transfer");
    check(H5Pset_dxpl_mpio(t.alone, H5FD_MPIO_INDEPENDENT), "choose independent transfer");
  }
  return t;
}

/// Returns the checksum of what this rank wrote.
std::uint64_t write_column(hid_t file, const std::filesystem::path& path,
                           const ColumnPieces& column, std::span<const Stretch> stretches,
                           std::size_t rank, const Transfers& transfers) {
  const std::uint64_t width = std::max<std::uint64_t>(
                          row_bytes(column.column, column.type, stretches[rank]), 1),
                      step = std::max<std::uint64_t>(kPiece / width, 1);
  const bool together = std::all_of(stretches.begin(), stretches.end(), [&](const Stretch& s) {
    return s.length[index(column.column.rows)] <= step;
  });
  ColumnWriter writer(file, column, stretches[rank],
                      together ? transfers.together : transfers.alone);
  if (writer.is_empty())
    return writer.checksum();  // on every rank: an empty column has no storage, so a collective
                               // write to it would fail
  std::vector<std::byte> buffer(std::min(step, writer.left()) * width);
  if (together) writer.write(writer.left(), buffer);
  for (std::size_t piece = 1; writer.left() > 0; ++piece) {
    writer.write(std::min(step, writer.left()), buffer);
    if (piece % kPiecesAhead == 0) start_writeback(path);
  }
  return writer.checksum();
}

std::string shared;  ///< the file that several ranks write and then close; one at a time
                     ///< (enter_hdf5)

/// A column that was written, with the ends and checksums of the ranks' stretches.
struct Written {
  std::span<const std::byte> bytes;
  std::vector<std::size_t> ends;         ///< [ranks] where each rank's stretch ends
  std::vector<std::uint64_t> checksums;  ///< [ranks] checksum of each rank's stretch
};

/// Reads the column once. Compares each rank's stretch with the rank's checksum, and records the
/// checksums of the column and of its segments in the file.
void seal(hid_t dataset, const Written& written, const std::string& name) {
  const std::uint64_t segment = segment_bytes(written.bytes.size());
  Checksum64 whole, of_segment, of_rank;
  std::vector<std::uint64_t> segments;
  std::size_t rank = 0, at = 0;
  const auto close_ranks = [&] {
    for (; rank < written.ends.size() && written.ends[rank] <= at; ++rank, of_rank.restart())
      if (of_rank.value() != written.checksums[rank])
        throw FileFault(
            fmt::format("{} reads back differently from what rank {} wrote", name, rank));
  };
  close_ranks();
  while (at < written.bytes.size()) {
    if (rank == written.ends.size())
      throw FileFault(fmt::format("{} is longer than what was written", name));
    const std::size_t end =
        std::min({(at / kBlock + 1) * kBlock, written.bytes.size(), written.ends[rank]});
    const auto block = written.bytes.subspan(at, end - at);
    whole.add(block), of_segment.add(block), of_rank.add(block);
    at = end;
    if (at % segment == 0 || at == written.bytes.size())
      segments.push_back(of_segment.value()), of_segment.restart();
    close_ranks();
  }
  if (rank < written.ends.size())
    throw FileFault(fmt::format("{} is shorter than what was written", name));
  write_checksum(dataset, whole.value());
  write_segments(dataset, segments);
}

}  // namespace

void reserve_space(const std::filesystem::path& path, std::span<const ColumnView> columns,
                   const Extents& extents) {
  std::uint64_t bytes = 1 << 16;  // metadata, and the rounding of HDF5's allocator
  for (const ColumnView& view : columns)
    bytes += width_of(view.type) * extents[index(view.column.rows)] *
             (view.column.by_component ? extents[index(Dim::component)] : 1);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  if (fd >= 0) {
    const off_t size = ::lseek(fd, 0, SEEK_END);
    do error = size < 0 ? errno : ::posix_fallocate(fd, 0, size + off_t(bytes));
    while (error == EINTR);
    ::close(fd);
  }
  require<StorageError>(
      error == 0,
      fmt::format("cannot reserve {} bytes for {}: {}", bytes, path.string(), std::strerror(error)),
      "the shards could not be packed; they stay as they are", "check free space and quota");
}

std::vector<std::uint64_t> fill_stretches(const std::filesystem::path& path,
                                          std::span<const ColumnPieces> columns,
                                          std::span<const Stretch> stretches, int rank,
                                          const void* mpi_communicator) {
  const Handle access = file_properties();
  if (mpi_communicator != nullptr) {
    check(H5Pset_fapl_mpio(access, *static_cast<const MPI_Comm*>(mpi_communicator), MPI_INFO_NULL),
          "choose MPI-IO");
    check(H5Pset_all_coll_metadata_ops(access, true), "let one rank read the metadata for all");
  }
  const Transfers transfers = make_transfers(mpi_communicator != nullptr);
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access), "open");
  std::vector<std::uint64_t> checksums(columns.size(), 0);
  try {
    for (std::size_t c = 0; c < columns.size(); ++c)
      checksums[c] = write_column(file, path, columns[c], stretches, std::size_t(rank), transfers);
    // Under MPI-IO the flush calls MPI_File_sync. What other nodes wrote must be on the server
    // before rank 0 reads it.
    if (mpi_communicator != nullptr) shared = path.string();
    check(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush");
  } catch (...) {
    if (mpi_communicator != nullptr)
      file.release();  // closing it would wait for the other ranks, which wait for this one
    throw;
  }
  file.close("close");
  shared.clear();
  start_writeback(path);
  return checksums;
}

void seal_columns(const std::filesystem::path& path, std::span<const ColumnView> columns,
                  std::span<const Stretch> stretches,
                  std::span<const std::vector<std::uint64_t>> checksums) {
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, file_properties()), "open");
  const MappedFile mapped(path);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Column& column = columns[c].column;
    const Handle dataset = open_column(file, column);
    Written written{.bytes = stored_bytes(dataset, mapped.bytes(), path_of(column)),
                    .ends = {},
                    .checksums = {}};
    for (std::size_t rank = 0; rank < stretches.size(); ++rank) {
      const Stretch& s = stretches[rank];
      written.ends.push_back((s.begin[index(column.rows)] + s.length[index(column.rows)]) *
                             row_bytes(column, columns[c].type, s));
      written.checksums.push_back(checksums[rank][c]);
    }
    seal(dataset, written, path_of(column));
  }
  file.close("close");
}

/// Ends this process if HDF5's error stack holds a failure. HDF5 writes its metadata in every
/// flush, shared among the ranks, and in every close of a file that is open for writing. A rank on
/// which this fails would continue into the collective calls that follow, where it and the others
/// would wait for each other forever.
static void end_if_a_write_failed() {
  if (shared.empty() || H5Eget_num(H5E_DEFAULT) <= 0) return;
  try {
    hdf5_failure("write", shared);
  } catch (const FileFault& fault) {
    comm::end_process(error_message(fault.what(),
                                    "the shards could not be packed; they stay as they are",
                                    "check that file system, then continue with --resume"));
  }
}

}  // namespace rollcall::io

// Defines a function that replaces one of HDF5's MPI calls and checks for a failure first. Such
// functions are weak, so that a program may have its own, and a preloaded profiler still sees the
// calls.
#define ROLLCALL_GUARDED(call, parameters, arguments)                                    \
  extern "C" __attribute__((weak)) int call parameters {                                 \
    static const auto next = reinterpret_cast<decltype(&call)>(dlsym(RTLD_NEXT, #call)); \
    rollcall::io::end_if_a_write_failed();                                               \
    return next != nullptr ? next arguments : P##call arguments;                         \
  }
ROLLCALL_GUARDED(MPI_Barrier, (MPI_Comm communicator), (communicator))
ROLLCALL_GUARDED(MPI_Bcast,
                 (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm communicator),
                 (buffer, count, type, root, communicator))
ROLLCALL_GUARDED(MPI_File_get_size, (MPI_File file, MPI_Offset* size), (file, size))
ROLLCALL_GUARDED(MPI_File_set_size, (MPI_File file, MPI_Offset size), (file, size))
ROLLCALL_GUARDED(MPI_File_sync, (MPI_File file), (file))
ROLLCALL_GUARDED(MPI_File_close, (MPI_File * file), (file))
