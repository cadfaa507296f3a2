// The collective pack consists of phases. In each, every rank does its part and then all agree.
#include "base/files/file.hpp"
#include "base/files/nfs_visibility.hpp"
#include "base/numbers/hash.hpp"
#include "io/agree.hpp"
#include "io/column_join.hpp"
#include "io/fault.hpp"
#include "io/manifest.hpp"
#include "io/mapped_file.hpp"
#include "io/mapped_shard.hpp"
#include "io/published.hpp"
#include "io/shard_name.hpp"
#include "io/stretch_file.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

/// What a rank sends to the others about the shards that it has read.
struct Share {
  std::vector<std::uint64_t> lengths;  ///< [kDims] rows of each dimension
  std::vector<std::string> component_names;
  bool loaded = false;
  template <class A>
  void serialize(A& ar, unsigned) {
    ar& lengths& component_names& loaded;
  }
};

ShardName parsed(const PackInput& input) {
  const auto name = ShardName::parse(input.shard.path);
  if (!name) refuse(input.shard.path, "its name is not that of a shard");
  return *name;
}

std::vector<PublishedFile> files_of(const std::vector<PackInput>& inputs) {
  std::vector<PublishedFile> files;
  for (const PackInput& input : inputs) {
    files.push_back(input.shard);
    if (input.scores.path != input.shard.path) files.push_back(input.scores);
  }
  return files;
}

class Packing {
 public:
  Packing(comm::Communicator& ranks, const fs::path& run_dir, const std::string& name,
          const std::vector<PackInput>& inputs, const RunIdentity& identity)
      : ranks_(ranks),
        run_dir_(run_dir),
        path_("archive/" + name + ".h5"),
        inputs_(inputs),
        identity_(identity) {}  // adopt() replaces the inputs with those of rank 0

  ArchiveEntry run() {
    const auto start = agreed(ranks_, [&] { return ranks_.rank() == 0 ? begin() : std::string(); });
    if (const auto packed = adopt(start[0])) return *packed;
    const auto shares = agreed(ranks_, [&] { return load(); });
    place(shares);
    const std::string entry = make_file();
    agreed(ranks_, [&] { return remove_mine(); });
    return entry_from_text(entry);
  }

 private:
  fs::path partial() const { return run_dir_ / (path_ + ".partial"); }
  const void* mpi() const { return ranks_.size() > 1 ? ranks_.mpi_handle() : nullptr; }
  int writers() const { return mpi() != nullptr ? ranks_.size() : 1; }
  std::vector<ColumnView> columns() const;
  Purpose purpose() const { return parsed(inputs_.front()).purpose; }
  [[noreturn]] void cannot_pack(const std::string& problem) const;
  std::vector<PackInput> my_inputs() const;
  std::string begin();
  std::string find_packed() const;
  std::optional<ArchiveEntry> adopt(const std::string& start);
  std::string load();
  void place(const std::vector<std::string>& shares);
  std::string make_file();
  std::string create() const;
  std::string find_partial() const;
  std::string write();
  std::string publish(const std::vector<std::string>& written) const;
  std::string remove_mine() const;

  comm::Communicator& ranks_;
  const fs::path& run_dir_;
  const std::string path_;
  std::vector<PackInput> inputs_;  ///< in order of their names
  const RunIdentity& identity_;
  std::vector<MappedShard> shards_;  ///< the shards that this rank packs
  JoinedColumns own_;                ///< the rows of shards_
  std::vector<Stretch> stretches_;   ///< [ranks] the place of each rank's rows in the file
  Extents total_{};
};

void Packing::cannot_pack(const std::string& problem) const {
  throw StorageError(
      error_message(fmt::format("cannot pack {}: {}", (run_dir_ / path_).string(), problem),
                    "the archive must hold every rollout once",
                    "the shards stay as they are; pack them under another name or separately"));
}

std::string Packing::begin() {
  std::sort(inputs_.begin(), inputs_.end(),
            [](const PackInput& a, const PackInput& b) { return parsed(a) < parsed(b); });
  if (parsed(inputs_.back()).purpose != purpose())
    cannot_pack("its shards are of several purposes");
  return to_bytes(std::pair(find_packed(), inputs_));
}

/// The entry of an earlier pack of the same shards. There is one if the job crashed after writing
/// the manifest and before the caller recorded that.
std::string Packing::find_packed() const {
  const Manifest manifest = load_manifest(run_dir_);
  const auto same = [](const PublishedFile& a, const PublishedFile& b) {
    return a.path == b.path && a.bytes == b.bytes && a.checksum == b.checksum;
  };
  const auto files = files_of(inputs_);
  const bool done = std::equal(files.begin(), files.end(), manifest.replaced.begin(),
                               manifest.replaced.end(), same);
  remove_replaced(run_dir_, manifest);
  if (done) return entry_text(manifest.files.back());
  for (const ArchiveEntry& entry : manifest.files) {
    if (entry.file.path == path_)
      cannot_pack("the manifest has this file already, packed from other shards");
    if (overlap(entry, purpose(), parsed(inputs_.front()).step, parsed(inputs_.back()).step))
      cannot_pack(fmt::format("{} holds steps between its first and last", entry.file.path));
  }
  return {};
}

/// Receives from rank 0 the entry of a pack that is already done, or else the shards to pack.
std::optional<ArchiveEntry> Packing::adopt(const std::string& start) {
  auto [entry, inputs] = from_bytes<std::pair<std::string, std::vector<PackInput>>>(start);
  if (!entry.empty()) return entry_from_text(entry);
  inputs_ = std::move(inputs);
  return std::nullopt;
}

/// A whole step goes to one rank, because a group may have fragments in several shards of its step.
/// Steps stay in order, so a rank's rows are contiguous.
std::vector<PackInput> Packing::my_inputs() const {
  std::uint64_t all = 0, before = 0;
  for (const PackInput& input : inputs_) all += input.shard.bytes;
  std::vector<PackInput> mine;
  for (auto step = inputs_.begin(); step != inputs_.end();) {
    const auto next = std::find_if(step, inputs_.end(), [&](const PackInput& i) {
      return parsed(i).step != parsed(*step).step;
    });
    if (int(before * std::uint64_t(writers()) / std::max<std::uint64_t>(all, 1)) == ranks_.rank())
      mine.insert(mine.end(), step, next);
    for (; step != next; ++step) before += step->shard.bytes;
  }
  return mine;
}

/// The columns of this rank's rows, without values.
std::vector<ColumnView> Packing::columns() const {
  std::vector<ColumnView> outlines;
  for (const ColumnPieces& column : own_.columns) outlines.push_back(column.outline());
  return outlines;
}

std::string Packing::load() {
  std::vector<StepTraining> training;
  for (const PackInput& input : my_inputs()) {
    // Another rank may have written the file, so it may become visible here late.
    if (ranks_.size() > 1)
      await_published(run_dir_, input.shard), await_published(run_dir_, input.scores);
    if (parsed(input).holds == Holds::training) {
      training.push_back(training_to_pack(run_dir_, input.shard));
      continue;
    }
    shards_.push_back(map_shard(run_dir_, input));
    if (shards_.back().component_names != shards_.front().component_names)
      refuse(run_dir_ / input.scores.path,
             "its reward components have different names from those of earlier shards");
  }
  own_ = join(shards_, training);
  const Extents lengths = extents_of(columns(), own_.component_names.size());
  return to_bytes(Share{{lengths.begin(), lengths.end()}, own_.component_names, !shards_.empty()});
}

/// Computes every rank's place in the file from the lengths of all ranks. Joining changes no
/// counts; only the group numbers are shifted.
void Packing::place(const std::vector<std::string>& shares) {
  const Share* first = nullptr;
  std::vector<Share> all;
  for (const std::string& bytes : shares) all.push_back(from_bytes<Share>(bytes));
  for (const Share& share : all) {
    if (!share.loaded) continue;
    if (first == nullptr) first = &share;
    if (share.component_names != first->component_names)
      cannot_pack("its shards have reward components of different names");
  }
  if (first != nullptr) own_.component_names = first->component_names;
  for (const Share& share : all) {
    Stretch& stretch = stretches_.emplace_back();
    stretch.begin = total_;
    std::copy(share.lengths.begin(), share.lengths.end(), stretch.length.begin());
    for (std::size_t d = 0; d < kDims; ++d) total_[d] += stretch.length[d];
    stretch.length[index(Dim::component)] = own_.component_names.size();
  }
  total_[index(Dim::component)] = own_.component_names.size();
  if (total_[index(Dim::group)] > std::numeric_limits<std::uint32_t>::max())
    cannot_pack("more than 2^32 groups would be in one file");
  for (std::uint32_t& group : own_.keys.group)
    group += std::uint32_t(stretches_[std::size_t(ranks_.rank())].begin[index(Dim::group)]);
}

/// Returns the file's entry. A file that could not be finished is removed, because it would only
/// fill the disk.
std::string Packing::make_file() {
  try {
    agreed(ranks_, [&] { return ranks_.rank() == 0 ? create() : std::string(); });
    if (writers() > 1) agreed(ranks_, [&] { return find_partial(); });
    // inside HDF5 the ranks wait for each other, so a rank that fails there can only end the job
    const std::string mine = mpi() != nullptr ? write() : "";
    const auto written = agreed(ranks_, [&] { return mpi() != nullptr ? mine : write(); });
    return agreed(ranks_, [&] { return ranks_.rank() == 0 ? publish(written) : std::string(); })[0];
  } catch (const Error&) {
    std::error_code ignored;  // the first failure is the one that is reported
    if (ranks_.rank() == 0) fs::remove(partial(), ignored);
    throw;
  }
}

/// Open MPI keeps its own files beside a file that ranks share, NAME.data.RANK and
/// NAME.metadata.RANK. They are left over if the job is killed.
void remove_files_beside(const fs::path& shared) {
  for (const auto& file : list_folder(shared.parent_path())) {
    if (!file.path().filename().string().starts_with(shared.filename().string() + ".")) continue;
    std::error_code ec;
    fs::remove(file.path(), ec);
    require<StorageError>(
        !ec, fmt::format("cannot remove {}: {}", file.path().string(), ec.message()),
        "it was left by a pack that was stopped, and nobody would remove it later",
        "check permissions of the run folder");
  }
}

std::string Packing::create() const {
  make_folder((run_dir_ / path_).parent_path());
  remove_files_beside(partial());
  Layout layout{total_, own_.component_names, identity_attributes(identity_, "archive", purpose())};
  layout.attributes.emplace_back("first_step", parsed(inputs_.front()).step);
  layout.attributes.emplace_back("last_step", parsed(inputs_.back()).step);
  writing(partial(), [&] { write_tables(partial(), columns(), layout, Values::later); });
  reserve_space(partial(), columns(), total_);
  return {};
}

/// All ranks agree that they see the file before they open it. Opening is collective, so a rank
/// that did not see the file would leave the others waiting inside HDF5.
std::string Packing::find_partial() const {
  require<StorageError>(
      file_seen_in_time(partial()),
      fmt::format("{} cannot be seen here {:.0f} s after rank 0 made it", partial().string(),
                  kLateName_s),
      "every rank writes its part of it",
      "put run.dir on a file system that all nodes share; if it already is, check that file system");
  return {};
}

std::string Packing::write() {
  std::vector<std::uint64_t> checksums(own_.columns.size(), checksum64(std::string_view()));
  if (ranks_.rank() < writers())
    checksums = writing(partial(), [&] {
      return fill_stretches(partial(), own_.columns, stretches_, ranks_.rank(), mpi());
    });
  shards_.clear();  // the shards are about to be removed; own_ keeps its lengths
  return to_bytes(std::as_const(checksums));
}

/// Removes the shards. Their bytes were compared when they were mapped.
std::string Packing::remove_mine() const {
  remove_files(run_dir_, files_of(my_inputs()));
  return {};
}

std::string Packing::publish(const std::vector<std::string>& written) const {
  std::vector<std::vector<std::uint64_t>> checksums;
  for (const std::string& bytes : written)
    checksums.push_back(from_bytes<std::vector<std::uint64_t>>(bytes));
  writing(partial(), [&] { seal_columns(partial(), columns(), stretches_, checksums); });
  const PublishedFile file = writing(partial(), [&] {
    const MappedFile mapped(partial());
    return PublishedFile{path_, mapped.bytes().size(), checksum64(mapped.bytes())};
  });
  publish_file(partial(), run_dir_ / path_);
  Manifest manifest = load_manifest(run_dir_);
  manifest.files.push_back({.file = file,
                            .purpose = text_of(purpose()),
                            .first_step = parsed(inputs_.front()).step,
                            .last_step = parsed(inputs_.back()).step,
                            .groups = total_[index(Dim::group)],
                            .rollouts = total_[index(Dim::rollout)],
                            .tokens = total_[index(Dim::token)]});
  manifest.replaced = files_of(inputs_);
  save_manifest(run_dir_, manifest);
  return entry_text(manifest.files.back());
}

}  // namespace

ArchiveEntry pack(comm::Communicator& ranks, const fs::path& run_dir, const std::string& name,
                  const std::vector<PackInput>& inputs, const RunIdentity& identity) {
  expect(ranks.rank() != 0 || !inputs.empty(), "there are shards to pack");
  return Packing(ranks, run_dir, name, inputs, identity).run();
}

}  // namespace rollcall::io
