// Adds the counts in the manifest and the shapes of columns.
#include "io/kept_rollouts.hpp"

#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"

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

}  // namespace rollcall::io
