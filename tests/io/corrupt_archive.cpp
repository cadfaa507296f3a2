// Corrupts the files of a run on purpose, one at a time, and expects every corruption to be noticed
// and said of the right file and column.
// Usage: corrupt_archive [--count N] [--seed S] [--locate-every K]; exit code 0 only when none was
// missed or said of another file.
#include "base/numbers/hash.hpp"
#include "base/time/clock.hpp"
#include "io/checkpoint.hpp"
#include "io/compact_tables.hpp"
#include "io/sample_run.hpp"
#include "io/shard_name.hpp"
#include "io/table_file.hpp"
#include "io/verify.hpp"
#include "report/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

namespace {

using namespace rollcall;
using namespace rollcall::io;
namespace fs = std::filesystem;

enum Kind {
  bit_flip,
  byte_run,
  truncation,
  extension,
  overwritten_by_another,
  swapped_with_another,
  copied_to_a_new_name,
  kKinds
};
constexpr std::array<const char*, kKinds> kNames{"bit flips",
                                                 "byte runs",
                                                 "truncations",
                                                 "extensions",
                                                 "overwritten by another file",
                                                 "swapped with another file",
                                                 "copied to a new name"};

constexpr const char* kCheckpoint = "train_000004";
constexpr const char* kCheckpointFolder = "checkpoints/train_000004/";
constexpr const char* kCheckpointManifest = "checkpoints/train_000004/manifest.json";

struct Place {
  std::uint64_t begin, end;
  std::string column;
};

struct Victim {
  std::string path, bytes;
  std::optional<ArchiveEntry> entry = {};   ///< of an archive file
  std::optional<PublishedFile> shard = {};  ///< as a checkpoint knows it
  std::string part = {};                    ///< of the checkpoint: its name there
  std::vector<Place> columns = {};
};

std::vector<Place> columns_of(const fs::path& path) {
  const auto inside = enter_hdf5();
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, file_properties()), "open");
  std::vector<Place> places;
  std::optional<CompactTables> compact;
  if (CompactTables::is_compact(file)) compact.emplace(file, std::span<const std::byte>());
  const auto add = [&](const Column& column, const auto&) {
    if (compact) {
      const CompactColumn* const found = compact->find(path_of(column));
      if (found == nullptr || found->bytes == 0) return;
      const std::uint64_t at = *compact->place() + found->offset;
      return places.push_back({at, at + found->bytes, path_of(column)});
    }
    if (H5Lexists(file, column.table, H5P_DEFAULT) <= 0 ||
        H5Lexists(file, path_of(column).c_str(), H5P_DEFAULT) <= 0)
      return;
    const Handle dataset = open_column(file, column);
    const haddr_t at = H5Dget_offset(dataset);
    if (at != HADDR_UNDEF)
      places.push_back({at, at + H5Dget_storage_size(dataset), path_of(column)});
  };
  const KeyColumns keys{};
  const RolloutColumns rollouts{};
  const ScoreColumns scores{};
  const TrainingColumns training{};
  KeyColumns::each(keys, add), RolloutColumns::each(rollouts, add), ScoreColumns::each(scores, add),
      TrainingColumns::each(training, add);
  return places;
}

class Campaign {
 public:
  explicit Campaign(std::uint64_t seed) : dice_(seed) {
    for (std::uint64_t first : {1, 3}) {
      std::vector<PackInput> inputs;
      for (std::uint64_t step = first; step < first + 2; ++step)
        inputs.push_back(test::write(run_, test::sample(7, step, 3))),
            inputs.push_back(test::write_training(run_, {test::sample(7, step, 3)}));
      const ArchiveEntry entry =
          pack(*comm::alone(), run_, "train_" + std::to_string(first), inputs, test::identity());
      add({.path = entry.file.path, .bytes = {}, .entry = entry});
    }
    for (std::uint64_t step : {5, 6}) {
      const PackInput files = step == 5 ? test::write(run_, test::sample(7, step, 3))
                                        : test::write_in_one(run_, test::sample(7, step, 3));
      add({.path = files.shard.path, .bytes = {}, .entry = {}, .shard = files.shard});
      if (step == 5)
        add({.path = files.scores.path, .bytes = {}, .entry = {}, .shard = files.scores});
      const PublishedFile training = test::write_training(run_, {test::sample(7, step, 3)}).shard;
      add({.path = training.path, .bytes = {}, .entry = {}, .shard = training});
    }
    add({.path = "archive/manifest.json", .bytes = {}});
    for (const char* part : {"config.json", "coordinator.json", "model.safetensors",
                             "optimizer-00001-of-00001.safetensors"})
      for (int i = 0; i < 1000; ++i) checkpoint_.files[part] += char(dice_.below(256));
    write_checkpoint(run_, checkpoint_);
    for (const auto& [part, bytes] : checkpoint_.files)
      add({.path = kCheckpointFolder + part, .bytes = {}, .entry = {}, .shard = {}, .part = part});
    add({.path = kCheckpointManifest,
         .bytes = {},
         .entry = {},
         .shard = {},
         .part = "manifest.json"});
  }

  /// One corruption, noticed or not, and the folder as it was.
  void trial(bool locate) {
    const auto kind = Kind(dice_.below(kKinds));
    std::set<std::string> wanted;
    corrupt(kind, wanted);
    const auto accused = verify(locate);
    ++count_[kind];
    located_ += locate ? 1 : 0;
    if (accused != noticeable(wanted)) complain(kind, wanted, accused);
    for (const Victim& victim : victims_)
      if (wanted.contains(victim.path)) test::put(run_.path() / victim.path, victim.bytes);
    if (kind == copied_to_a_new_name) fs::remove(run_.path() / *wanted.begin());
  }

  std::uint64_t failures() const { return wrong_ + misplaced_; }
  int report(double seconds) const {
    std::uint64_t all = 0;
    for (int k = 0; k < kKinds; ++k) {
      fmt::print("{:>10} {}\n", count_.contains(Kind(k)) ? count_.at(Kind(k)) : 0,
                 kNames[std::size_t(k)]);
      all += count_.contains(Kind(k)) ? count_.at(Kind(k)) : 0;
    }
    fmt::print(
        "{} corruptions in {} files, {:.0f} a second: {} missed or said of another file; {} followed to the column, {} of them wrong\n",
        all, victims_.size(), double(all) / seconds, wrong_, located_, misplaced_);
    return failures() == 0 && all > 0 ? 0 : 1;
  }

 private:
  void add(Victim victim) {
    victim.bytes = test::content(run_.path() / victim.path);
    if (victim.path.ends_with(".h5")) victim.columns = columns_of(run_.path() / victim.path);
    victims_.push_back(std::move(victim));
  }

  void corrupt(Kind kind, std::set<std::string>& wanted) {
    const Victim& victim = victims_[dice_.below(victims_.size())];
    const Victim& other =
        victims_[(std::size_t(&victim - victims_.data()) + 1 + dice_.below(victims_.size() - 1)) %
                 victims_.size()];
    std::string bytes = victim.bytes;
    hit_.clear();
    const std::size_t at = dice_.below(bytes.size());
    switch (kind) {
      case bit_flip:
        bytes[at] = char(bytes[at] ^ (1 << dice_.below(8))), hit_ = column_at(victim, at, 1);
        break;
      case byte_run: hit_ = spoil_run(bytes, at, victim); break;
      case truncation: bytes.resize(at); break;
      case extension: bytes += std::string(1 + dice_.below(4096), char(dice_.below(256))); break;
      case overwritten_by_another: bytes = other.bytes; break;
      case swapped_with_another:
        bytes = other.bytes, test::put(run_.path() / other.path, victim.bytes),
        wanted.insert(other.path);
        break;
      case copied_to_a_new_name:
      case kKinds: break;
    }
    if (kind == copied_to_a_new_name) {
      const Victim& shard = *std::find_if(victims_.begin(), victims_.end(),
                                          [&](const Victim& v) { return v.shard.has_value(); });
      ShardName name = *ShardName::parse(shard.path);
      name.step = 7 + dice_.below(1000);
      test::put(run_.path() / name.path(), shard.bytes);
      wanted = {name.path()};
      extra_ = name.path();
      return;
    }
    extra_.clear();
    test::put(run_.path() / victim.path, bytes);
    wanted.insert(victim.path);
  }

  /// Up to 64 other bytes; the column when they all lie in one.
  std::string spoil_run(std::string& bytes, std::size_t at, const Victim& victim) {
    const std::size_t length = 1 + dice_.below(std::min<std::size_t>(64, bytes.size() - at));
    for (std::size_t i = at; i < at + length; ++i)
      bytes[i] = char(bytes[i] ^ char(1 + dice_.below(255)));
    return column_at(victim, at, length);
  }

  static std::string column_at(const Victim& victim, std::size_t at, std::size_t length) {
    for (const Place& place : victim.columns)
      if (place.begin <= at && at + length <= place.end) return place.column;
    return {};
  }

  /// The files that something is said of.
  std::set<std::string> verify(bool locate) {
    std::set<std::string> accused;
    const std::string manifest = test::fault_of([&] { read_manifest(run_); });
    if (manifest.find("manifest.json") != std::string::npos)
      accused.insert("archive/manifest.json");
    for (const Victim& victim : victims_) {
      if (!victim.entry && !victim.shard) continue;
      const PublishedFile& file = victim.entry ? victim.entry->file : *victim.shard;
      if (!locate) {
        if (unlike_published(run_, file)) accused.insert(file.path);
        continue;
      }
      const auto faults =
          victim.entry ? verify_archive(run_, *victim.entry) : verify_shard(run_, file.path, file);
      if (!faults.empty()) accused.insert(faults.front().file);
      if (!hit_.empty() && !faults.empty())
        misplaced_ +=
            faults.size() == 2 && faults[1].problem.starts_with(hit_ + " has checksum") ? 0 : 1;
    }
    if (!extra_.empty() && !verify_shard(run_, extra_, std::nullopt).empty())
      accused.insert(extra_);
    verify_checkpoint(accused);
    return accused;
  }

  /// What is said of a checkpoint, or of one part of it; empty when it was read with the values
  /// that were written.
  std::string fault_of_checkpoint(const std::string& part = {}) const {
    try {
      const StoredCheckpoint stored(run_, kCheckpoint);  // the manifest is read here
      if (!part.empty() && part != "manifest.json") stored.verified(part);
      if (!part.empty()) return "";
      return read_checkpoint(run_, kCheckpoint).files == checkpoint_.files ? "" : "other values";
    } catch (const Error& fault) {
      return fault.what();
    }
  }

  /// One read tells of one fault, so where the whole is refused its parts are asked one by one.
  void verify_checkpoint(std::set<std::string>& accused) const {
    if (fault_of_checkpoint().empty()) return;
    for (const Victim& asked : victims_) {
      if (asked.part.empty()) continue;
      const std::string said = fault_of_checkpoint(asked.part);
      for (const Victim& named : victims_)
        if (!named.part.empty() && said.find(named.path + ": ") != std::string::npos)
          accused.insert(named.path);
    }
  }

  /// Of the damaged files, those that something has to be said of. Where the checkpoint's manifest
  /// is damaged its other files cannot be judged; and white space in that manifest, or the case of
  /// a digit, changes nothing that is read.
  std::set<std::string> noticeable(std::set<std::string> damaged) const {
    if (!damaged.contains(kCheckpointManifest)) return damaged;
    std::erase_if(damaged, [](const std::string& path) {
      return path.starts_with(kCheckpointFolder) && path != kCheckpointManifest;
    });
    if (fault_of_checkpoint().empty()) damaged.erase(kCheckpointManifest);
    return damaged;
  }

  void complain(Kind kind, const std::set<std::string>& wanted,
                const std::set<std::string>& accused) {
    if (++wrong_ > 10) return;
    fmt::print("{}: corrupted {}, accused {}\n", kNames[kind], fmt::join(wanted, " "),
               fmt::join(accused, " "));
  }

  test::RunFolder run_;
  test::Dice dice_;
  std::vector<Victim> victims_;
  Checkpoint checkpoint_{.name = kCheckpoint, .files = {}};
  std::string hit_, extra_;  ///< column that this trial damaged, file that it made
  std::map<Kind, std::uint64_t> count_;
  std::uint64_t wrong_ = 0, located_ = 0, misplaced_ = 0;
};

std::uint64_t option(int argc, char** argv, const std::string& name, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) return std::strtoull(argv[i + 1], nullptr, 10);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = option(argc, argv, "--count", 2000),
                      every = option(argc, argv, "--locate-every", 64);
  Campaign campaign(option(argc, argv, "--seed", 1));
  const Stopwatch clock;
  rollcall::report::Progress progress("corruptions", 0, std::int64_t(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    campaign.trial(i % every == 0);
    progress.update(std::int64_t(i + 1), {{"failed", double(campaign.failures())}});
  }
  return campaign.report(clock.seconds());
}
