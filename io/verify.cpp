// Makes the checks of every read, but continues after the first fault.
#include "io/verify.hpp"

#include "io/conversation_rows.hpp"
#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/mapped_tables.hpp"
#include "io/shard_name.hpp"
#include "io/training_file.hpp"

#include <algorithm>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

/// The problem of a StorageError, without file, reason and suggestion, which the report states
/// once.
std::string problem_of(const std::string& message, const std::string& path) {
  const auto file = message.find(path + ": ");
  auto reason = std::string::npos;
  for (const char* known :
       {" (the file is not what the run published)", " (the file system does not let it be read",
        " (what it holds is not known)"})
    reason = std::min(reason, message.rfind(known));
  const std::size_t begin = file == std::string::npos ? 0 : file + path.size() + 2;
  return message.substr(begin,
                        reason == std::string::npos || reason < begin ? reason : reason - begin);
}

template <class F>
std::optional<Fault> fault_of(const std::string& path, const F& read) {
  try {
    read();
  } catch (const StorageError& fault) {
    return Fault{path, problem_of(fault.what(), path)};
  } catch (const UnreadableError& fault) {
    return Fault{path, problem_of(fault.what(), path), Fault::Kind::unreadable};
  } catch (const EnvironmentError& fault) {
    return Fault{path, problem_of(fault.what(), path), Fault::Kind::newer};
  }
  return std::nullopt;
}

template <class Set>
void check_columns(TableReader& reader, std::vector<std::string>& damaged) {
  Set set;
  Set::each(set, [&](const Column& column, auto& values) {
    if (!reader.has(column)) return;
    try {
      reader.read_column(column, values);
    } catch (const UnreadableFault&) {
      throw;
    } catch (const FileFault& fault) {
      damaged.emplace_back(fault.what());
    }
  });
}

/// The damaged columns of a file whose bytes are not the published ones.
std::vector<Fault> located(const fs::path& run_dir, const Fault& fault) {
  std::vector<Fault> faults{fault};
  const std::string& path = fault.file;
  std::error_code absent;
  if (fault.kind != Fault::Kind::damage || !fs::exists(run_dir / path, absent)) return faults;
  std::vector<std::string> columns;
  if (fault_of(path, [&] { columns = damaged_columns(run_dir / path); })) return faults;
  for (const std::string& column : columns) faults.push_back({path, column});
  if (columns.empty())
    faults.push_back(
        {path,
         "every column has its checksum: the damage lies in names, attributes or between the columns"});
  return faults;
}

Holds held_by(const fs::path& path) {
  const auto kind = reading(path, [&] { return TableReader(path).text("kind"); });
  // `kind` is one of kKinds, because the file has been read before
  return Holds(std::find(kKinds.begin(), kKinds.end(), kind) - kKinds.begin());
}

std::optional<std::string> misplaced(const ShardName& name, const ShardName& inside) {
  if (inside == name) return std::nullopt;
  return fmt::format("it is the file {} under another name", inside.path());
}

template <class Shard>
std::optional<std::string> misplaced(const ShardName& name, const Shard& s, Holds holds) {
  return misplaced(name, {s.purpose, s.step, s.round, s.producer, holds});
}

}  // namespace

std::vector<std::string> damaged_columns(const fs::path& path) {
  std::vector<std::string> damaged;
  try {
    const auto inside = enter_hdf5();
    TableReader reader(path);
    check_columns<KeyColumns>(reader, damaged);
    check_columns<RolloutColumns>(reader, damaged);
    check_columns<ScoreColumns>(reader, damaged);
    check_columns<TrainingColumns>(reader, damaged);
  } catch (const UnreadableFault& fault) {
    refuse_unreadable(path, fault.what());
  } catch (const FileFault& fault) {
    damaged.emplace_back(fault.what());
  } catch (const fs::filesystem_error& fault) {
    if (fault.code() != std::errc::no_such_file_or_directory)
      refuse_unreadable(path, fault.code().message());
    damaged.push_back(fault.code().message());
  }
  return damaged;
}

std::optional<Fault> unlike_published(const fs::path& run_dir, const PublishedFile& file) {
  return fault_of(file.path,
                  [&] { reading(run_dir / file.path, [&] { check_published(run_dir, file); }); });
}

void require_size(const fs::path& run_dir, const PublishedFile& file) {
  reading(run_dir / file.path, [&] { check_published_size(run_dir, file); });
}

std::vector<Fault> verify_shard(const fs::path& run_dir, const std::string& path,
                                const std::optional<PublishedFile>& published) {
  const auto name = ShardName::parse(path);
  if (!name) return {{path, "its name is not that of a shard"}};
  if (published) {
    if (const auto fault = unlike_published(run_dir, *published)) return located(run_dir, *fault);
  } else {
    std::vector<std::string> columns;
    if (const auto fault = fault_of(path, [&] { columns = damaged_columns(run_dir / path); }))
      return {*fault};
    std::vector<Fault> faults;
    for (const std::string& column : columns) faults.push_back({path, column});
    if (!faults.empty()) return faults;
  }
  std::optional<std::string> wrong_place;
  const auto fault = fault_of(path, [&] {
    const PublishedFile file = published ? *published : inspect(run_dir, path);
    if (name->holds == Holds::training) {
      wrong_place =
          misplaced(*name, {.step = read_training(run_dir, file).step, .holds = Holds::training});
      return;
    }
    if (name->holds != Holds::rollouts)
      wrong_place = misplaced(*name, read_scores(run_dir, file), held_by(run_dir / path));
    if (name->holds != Holds::scores)
      wrong_place = misplaced(*name, read_shard(run_dir, file), held_by(run_dir / path));
  });
  if (fault) return {*fault};
  if (wrong_place) return {{path, *wrong_place}};
  return {};
}

/// Makes the checks of read_archive without building rollouts, and checks the order of the rows, on
/// which readers rely.
std::vector<Fault> verify_archive(const fs::path& run_dir, const ArchiveEntry& entry) {
  const std::string& path = entry.file.path;
  const auto fault = fault_of(path, [&] {
    reading(run_dir / path, [&] {
      MappedTables tables(run_dir, entry.file, "archive", ColumnChecksums::compare);
      KeyColumns keys;
      RolloutColumns rollouts;
      ScoreColumns scores;
      TrainingColumns training;
      std::vector<ColumnView> columns;
      tables.read(keys, columns), tables.read(rollouts, columns), tables.read(scores, columns),
          tables.read(training, columns);
      check_archive(tables.reader(), entry);
      check_group_rows(keys);
      check_conversations(rollouts);
      check_order(keys);
    });
  });
  if (!fault) return {};
  if (fault->kind != Fault::Kind::damage) return {*fault};
  const auto unlike = unlike_published(run_dir, entry.file);
  if (unlike && unlike->kind != Fault::Kind::damage) return {*unlike};
  return unlike ? located(run_dir, *fault) : std::vector<Fault>{*fault};
}

}  // namespace rollcall::io
