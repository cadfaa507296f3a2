// Adds up the counts in the manifest and in the shapes of columns.
#include "io/kept_rollouts.hpp"

#include "io/fault.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"
#include "io/table_file.hpp"

#include <numeric>

namespace rollcall::io {

std::uint64_t kept_rollouts(const std::filesystem::path& run_dir) {
  if (!is_run_folder(run_dir)) return 0;
  const Source source = open_source(run_dir);
  std::uint64_t rollouts = 0;
  const std::string greedy = text_of(Purpose::greedy);
  for (const ArchiveEntry& entry : source.packed)
    rollouts += entry.purpose == greedy ? 0 : entry.rollouts;
  for (const auto* shards : {&source.loose, &source.unscored})
    for (const std::string& shard : *shards)
      if (const auto rows = count_rows(run_dir / shard);
          rows && ShardName::parse(shard)->purpose != Purpose::greedy)
        rollouts += rows->rollouts;
  return rollouts;
}

RolloutsOfSteps packed_rollouts(const std::filesystem::path& run_dir, std::uint64_t first) {
  RolloutsOfSteps rollouts;
  for (const ArchiveEntry& entry : read_manifest(run_dir)) {
    const Purpose purpose = purpose_from_text(entry.purpose);
    if (purpose == Purpose::greedy || entry.last_step < first) continue;
    if (entry.first_step == entry.last_step) {
      rollouts[{purpose, entry.last_step}] += entry.rollouts;
      continue;
    }
    const std::filesystem::path path = run_dir / entry.file.path;
    KeyColumns keys;
    reading(path, [&] {
      TableReader(path).read(keys);
      if (std::reduce(keys.rollout_count.begin(), keys.rollout_count.end(), std::uint64_t{0}) !=
          entry.rollouts)
        throw FileFault("its number of rollouts differs from the manifest");
    });
    for (std::size_t group = 0; group < keys.step.size(); ++group)
      if (keys.step[group] >= first)
        rollouts[{purpose, keys.step[group]}] += keys.rollout_count[group];
  }
  return rollouts;
}

}  // namespace rollcall::io
