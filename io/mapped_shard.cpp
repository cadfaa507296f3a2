// Reads whole columns; no rollouts are built from rows.
#include "io/mapped_shard.hpp"

#include "io/conversation_rows.hpp"
#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/mapped_tables.hpp"

#include <tuple>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

using Address = std::tuple<Purpose, std::uint64_t, std::uint64_t, std::uint64_t>;

/// Throws if the shard has a later minor version. A reader may ignore columns that it does not
/// know, but a pack removes the shards in the end, so it must know all columns.
void check_all_known(const TableReader& reader) {
  if (const auto minor = reader.number<std::int32_t>("schema_minor"); minor > kSchemaMinor)
    throw NewerSchema(fmt::format(
        "it has schema {0}.{1}, and a pack by this program would lose what came after {0}.{2}",
        kSchemaMajor, minor, kSchemaMinor));
}

/// Purpose, step, round and producer of a file. Called after all reads, because it checks counts.
Address address_of(const TableReader& reader) {
  reader.check_counts();
  return {purpose_of(reader), reader.number<std::uint64_t>("step"),
          reader.number<std::uint64_t>("round"), reader.number<std::uint64_t>("producer")};
}

bool same_keys(const KeyColumns& a, const KeyColumns& b) {
  return a.step == b.step && a.prompt_id == b.prompt_id && a.draw == b.draw &&
         a.rollout_count == b.rollout_count && a.group == b.group && a.sample == b.sample;
}

}  // namespace

MappedShard map_shard(const fs::path& run_dir, const PackInput& input) {
  MappedShard shard;
  const bool in_one = input.shard.path == input.scores.path;
  const auto read_scores = [&shard](MappedTables& tables) {
    tables.read(shard.scores, shard.columns);
    shard.component_names = tables.reader().component_names();
  };
  const Address address = reading(run_dir / input.shard.path, [&] {
    MappedTables tables(run_dir, input.shard, "shard", ColumnChecksums::known);
    check_all_known(tables.reader());
    tables.read(shard.keys, shard.columns);
    tables.read(shard.rollouts, shard.columns);
    if (in_one) read_scores(tables);
    const Address found = address_of(tables.reader());
    check_group_rows(shard.keys);
    check_conversations(shard.rollouts);
    shard.shard_file = tables.release();
    return found;
  });
  if (in_one) return shard;
  reading(run_dir / input.scores.path, [&] {
    MappedTables tables(run_dir, input.scores, "scores", ColumnChecksums::known);
    check_all_known(tables.reader());
    KeyColumns keys;
    std::vector<ColumnView> again;  // the keys, which equal those of the shard
    tables.read(keys, again);
    read_scores(tables);
    if (address_of(tables.reader()) != address)
      throw FileFault(fmt::format("it does not belong to {}", input.shard.path));
    if (!same_keys(shard.keys, keys))
      throw FileFault(
          fmt::format("its groups or rollouts differ from those of {}", input.shard.path));
    shard.scores_file = tables.release();
  });
  return shard;
}

StepTraining training_to_pack(const fs::path& run_dir, const PublishedFile& file) {
  reading(run_dir / file.path, [&] { check_all_known(TableReader(run_dir / file.path)); });
  return read_training(run_dir, file);
}

}  // namespace rollcall::io
