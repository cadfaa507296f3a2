// A write that fails inside the collective flush or close of a packed file, on the one rank that
// makes it: that rank must end the job with one message, for in there the others wait for it. Under
// mpirun; the arguments are the call, the fault, EIO or half, and a folder to replace. The calls:
// flush and close write the superblock on rank 0, metadata is the share of rank 1 in what a flush
// writes before. Returns only where the call went through: 0 where MPI wrote the other half (ROMIO
// does), and 1 where nobody did.
#include "comm/communicator.hpp"
#include "comm/timed_call.hpp"
#include "faults/interpose.hpp"
#include "io/fault.hpp"
#include "io/sample_run.hpp"
#include "io/stretch_file.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string_view>

namespace {

namespace fs = std::filesystem;
using namespace rollcall;
using namespace rollcall::io;

constexpr std::size_t kRows = 64;  // of a rank

/// Rank 0 makes a file of one column and all fill it, as in a pack; the n-th file call of this rank
/// in the filling fails. Returns this rank's calls.
std::vector<faults::Call> fill(comm::Communicator& world, const fs::path& path,
                               std::optional<std::size_t> nth = {},
                               faults::Fault fault = faults::Fault::eio) {
  const std::size_t ranks = std::size_t(world.size());
  std::vector<std::uint64_t> rows(kRows * ranks);
  RolloutColumns all;
  all.policy_version = rows;
  const auto columns = views(all);
  const auto version = std::find_if(columns.begin(), columns.end(), [](const ColumnView& view) {
    return std::string_view(view.column.name) == "policy_version";
  });
  Extents extents{};
  extents[index(Dim::token)] = rows.size();
  if (world.rank() == 0)
    writing(path, [&] {
      write_tables(path, std::vector<ColumnView>{{version->column, version->type, {}, rows.size()}},
                   {extents, {}, {}}, Values::later);
    });
  world.barrier();

  std::vector<Stretch> stretches(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    stretches[rank].begin[index(Dim::token)] = rank * kRows,
    stretches[rank].length[index(Dim::token)] = kRows;
  ColumnPieces mine{version->column, version->type, sizeof(std::uint64_t)};
  mine.add(std::as_bytes(std::span(rows)).first(sizeof(std::uint64_t) * kRows));
  faults::watch(path.parent_path());
  if (nth) faults::fail(*nth, fault, false);
  writing(path, [&] {
    fill_stretches(path, std::vector{mine}, stretches, world.rank(), world.mpi_handle());
  });
  return faults::calls();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view where = argc == 4 ? argv[1] : "", name = argc == 4 ? argv[2] : "";
  if ((where != "flush" && where != "close" && where != "metadata") ||
      (name != "EIO" && name != "half"))
    return std::fputs("usage: failed_close flush|close|metadata EIO|half FOLDER\n", stderr), 2;
  const fs::path folder = argv[3];
  const comm::MpiScope scope(nullptr, nullptr);
  const auto world = scope.world();
  if (world->rank() == 0) fs::remove_all(folder), fs::create_directories(folder);

  const auto calls = fill(*world, folder / "a.h5");
  const auto sync = std::find(calls.begin(), calls.end(), faults::Call::sync),
             closing = std::find(sync, calls.end(), faults::Call::write);
  // the last before
  const auto flushing =
      std::find(std::reverse_iterator(sync), calls.rend(), faults::Call::write).base() - 1;
  if (world->rank() == 0 && closing == calls.end())
    std::fputs("HDF5 no longer writes behind its flush: io's MPI_File_close can go\n", stderr);
  comm::TimedCall::note_failure_in(folder / "failure", world->rank());
  const bool fails = world->rank() == (where == "metadata" ? 1 : 0);
  fill(
      *world, folder / "b.h5",
      fails ? std::optional((where == "close" ? closing : flushing) - calls.begin()) : std::nullopt,
      name == "EIO" ? faults::Fault::eio : faults::Fault::partial);
  const bool whole = test::content(folder / "a.h5") == test::content(folder / "b.h5");
  std::fprintf(stderr, "the call went through, and the file is %s\n",
               whole ? "whole" : "not whole");
  return whole && name == "half" ? 0 : 1;
}
