// How near packing comes to the disk: a whole pack, and the parallel write alone, beside write(2)
// of the same bytes in 4 MiB pieces with fsync, in turns.
// usage: [mpirun -n R] bench_io_pack [MIB [REPEATS [TOKENS]]]     TOKENS: of a completion, 512
// unless told. In ROLLCALL_BENCH_DIR, else where temporary files go.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/process/uninterrupted.hpp"
#include "base/time/clock.hpp"
#include "io/archive.hpp"
#include "io/fault.hpp"
#include "io/stretch_file.hpp"
#include "sample_step.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace {

using namespace rollcall;
using namespace rollcall::io;
namespace fs = std::filesystem;

using bench::kIdentity, bench::Step, bench::make_step;

constexpr std::size_t kPiece = 4 << 20, kTokenBytes = 20;

class Bench {
 public:
  Bench(comm::Communicator& world, fs::path dir, std::size_t bytes, std::size_t tokens)
      : world_(world), dir_(std::move(dir)) {
    const std::size_t step_bytes = bench::kGroups * bench::kSamples *
                                   (tokens + bench::kPromptTokens) * kTokenBytes,
                      steps = std::max<std::size_t>(bytes / step_bytes, 2);
    for (std::size_t s = 0; s < steps; ++s) steps_.push_back(make_step(s, tokens));
  }

  /// A pack with everything it does: reading and checking the shards, joining, writing, reading
  /// back, publishing, removing the shards.
  double pack_all() {
    std::vector<PackInput> inputs(steps_.size());
    if (world_.rank() == 0) {
      for (std::size_t s = 0; s < steps_.size(); ++s)
        inputs[s] = {publish(dir_, draft_shard(steps_[s].shard, steps_[s].prompts, kIdentity)),
                     publish(dir_, draft_scores(steps_[s].scores, steps_[s].shard, kIdentity))};
    }
    const double s =
        timed([&] { bytes_ = pack(world_, dir_, "pack", inputs, kIdentity).file.bytes; });
    if (world_.rank() == 0) fs::remove_all(dir_ / "archive");  // nobody packs a step twice
    return s;
  }

  /// The collective write and its fsync alone: what a raw write of the same bytes is to be compared
  /// with.
  double write_columns() {
    const std::size_t share = bytes_ / kTokenBytes / std::size_t(world_.size());
    RolloutColumns own;
    own.id.assign(share, 1), own.logprob.assign(share, 0.5F), own.entropy.assign(share, 0.5F),
        own.policy_version.assign(share, 7);
    std::vector<ColumnView> columns;
    std::vector<ColumnPieces> pieces;
    for (const ColumnView& view : views(own)) {
      if (view.column.rows != Dim::token) continue;
      columns.push_back(view);
      pieces.push_back({view.column, view.type, view.bytes.size() / view.elements});
      pieces.back().add(view.bytes);
    }
    std::vector<Stretch> stretches(std::size_t(world_.size()));
    for (std::size_t r = 0; r < stretches.size(); ++r)
      stretches[r].begin[index(Dim::token)] = share * r,
      stretches[r].length[index(Dim::token)] = share;
    Extents all{};
    all[index(Dim::token)] = share * std::uint64_t(world_.size());
    const fs::path path = dir_ / "columns.h5";
    const double s = timed([&] {
      if (world_.rank() == 0) {
        writing(path, [&] { write_tables(path, columns, {all, {}, {}}, Values::later); });
        reserve_space(path, columns, all);
      }
      world_.barrier();
      writing(path, [&] {
        fill_stretches(path, pieces, stretches, world_.rank(),
                       world_.size() > 1 ? world_.mpi_handle() : nullptr);
      });
      fsync_path(path);
    });
    if (world_.rank() == 0) fs::remove(path);
    return s;
  }

  double write_raw() {
    const std::string piece(kPiece, '7');
    const std::size_t share = bytes_ / std::size_t(world_.size());
    const fs::path path = dir_ / "raw";
    if (world_.rank() == 0) write_file_atomic(path, "");
    const double s = timed([&] {
      const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      bool good = fd >= 0;
      for (std::size_t done = 0; good && done < share; done += kPiece) {
        const std::size_t n = std::min(kPiece, share - done);
        good = ::pwrite(fd, piece.data(), n, off_t(share * std::size_t(world_.rank()) + done)) ==
               ssize_t(n);
      }
      good = good && ::fsync(fd) == 0;
      ::close(fd);
      require<StorageError>(good, "the raw write failed", "nothing to compare with",
                            "check free space");
    });
    if (world_.rank() == 0) fs::remove(path);
    return s;
  }

  double mib() const { return double(bytes_) / (1 << 20); }

 private:
  double timed(const std::function<void()>& f) {
    world_.barrier();
    ::sync();  // what earlier turns left dirty is not this one's
    world_.barrier();
    warm_memory();
    world_.barrier();
    const Stopwatch watch;
    f();
    world_.barrier();
    return watch.seconds();
  }

  /// A virtual machine takes pages back that were free for a while, and then the first write to
  /// each costs ten times its copy: none of the candidates should pay for that. So the page cache
  /// is grown and given up just before.
  void warm_memory() const {
    const fs::path path = dir_ / ("warm" + std::to_string(world_.rank()));
    const std::string piece(kPiece, '7');
    const Descriptor file(path, O_WRONLY | O_CREAT, 0644);
    for (std::size_t done = 0; done < 2 * bytes_ / std::size_t(world_.size()); done += kPiece)
      require<StorageError>(::pwrite(file, piece.data(), kPiece, off_t(done)) == ssize_t(kPiece),
                            "cannot write " + path.string(), "memory stays cold",
                            "check free space");
    fs::remove(path);
  }

  comm::Communicator& world_;
  fs::path dir_;
  std::vector<Step> steps_;
  std::uint64_t bytes_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(const char* what, const std::vector<double>& seconds, const std::vector<double>& raw,
           double mib) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < seconds.size(); ++i) shares.push_back(100.0 * raw[i] / seconds[i]);
  fmt::print("{:<28} {:>8.0f} MiB/s  {:>6.1f} % of raw ({:.1f} to {:.1f})\n", what,
             mib / median(seconds), median(shares), *std::min_element(shares.begin(), shares.end()),
             *std::max_element(shares.begin(), shares.end()));
}

}  // namespace

int main(int argc, char** argv) {
  const comm::MpiScope scope(&argc, &argv);
  const auto world = scope.world();
  const auto argument = [&](int i, std::size_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const std::size_t repeats = argument(2, 2);
  const char* chosen = std::getenv("ROLLCALL_BENCH_DIR");
  const fs::path dir =
      world->gather_all(((chosen != nullptr ? fs::path(chosen) : fs::temp_directory_path()) /
                         ("rollcall_pack_" + std::to_string(::getpid())))
                            .string())[0];
  if (world->rank() == 0) make_folder(dir);
  Bench bench(*world, dir, argument(1, 16) << 20, argument(3, 512));
  bench.pack_all();  // also says how many bytes the others write
  std::vector<double> whole, columns, raw;
  for (std::size_t i = 0; i < repeats; ++i) {
    if (i % 2 == 0) raw.push_back(bench.write_raw());
    columns.push_back(bench.write_columns());
    if (i % 2 == 1) raw.push_back(bench.write_raw());
    whole.push_back(bench.pack_all());
  }
  if (world->rank() == 0) {
    fmt::print("{:.0f} MiB, {} ranks, {} turns in {}\n", bench.mib(), world->size(), repeats,
               dir.string());
    print("raw, 4 MiB pieces, fsync", raw, raw, bench.mib());
    print("columns through HDF5, fsync", columns, raw, bench.mib());
    print("the whole pack", whole, raw, bench.mib());
    fs::remove_all(dir);
  }
  return 0;
}
