// Reads scores first, and rollouts only where their scores hold a verdict that might come out
// differently a second time.
#include "io/stored_verdicts.hpp"

#include "base/files/file.hpp"
#include "io/fault.hpp"
#include "io/published.hpp"
#include "io/shard_file.hpp"
#include "io/shard_name.hpp"

#include <algorithm>
#include <cstdlib>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

bool unsure(const Score& score) { return score.undecided || score.clock_ended; }

bool any_unsure(const ScoredShard& scored) {
  return std::any_of(scored.scores.begin(), scored.scores.end(),
                     [](const std::vector<Score>& group) {
                       return std::any_of(group.begin(), group.end(), unsure);
                     });
}

void collect(const fs::path& run_dir, const std::string& scores_file,
             std::vector<StoredVerdict>& all) {
  const ScoredShard scored = read_scores(run_dir, inspect(run_dir, scores_file));
  if (!any_unsure(scored)) return;
  ShardName name = *ShardName::parse(scores_file);
  if (name.holds == Holds::scores) name.holds = Holds::rollouts;
  const std::string shard_file =
      fs::path(scores_file).replace_filename(fs::path(name.path()).filename());
  std::vector<ShardPrompt> prompts;
  const RolloutShard shard = read_shard(run_dir, inspect(run_dir, shard_file), &prompts);
  for (std::size_t g = 0; g < std::min(shard.groups.size(), scored.scores.size()); ++g) {
    const Group& group = shard.groups[g];
    for (std::size_t i = 0; i < std::min(group.rollouts.size(), scored.scores[g].size()); ++i) {
      if (!unsure(scored.scores[g][i])) continue;
      all.push_back({shard.purpose, group.id, group.rollouts[i].sample, prompts[g].text,
                     prompts[g].answer, group.rollouts[i].text, scored.scores[g][i],
                     group.rollouts[i].finish, group.rollouts[i].facts});
    }
  }
}

}  // namespace

std::vector<StoredVerdict> verdicts_to_repeat(const fs::path& run_dir,
                                              std::vector<std::string>& unreadable) {
  auto folders = list_folder(run_dir / "set_aside");
  std::sort(folders.begin(), folders.end(), [](const auto& a, const auto& b) {
    return std::atoi(a.path().filename().c_str()) < std::atoi(b.path().filename().c_str());
  });
  std::vector<StoredVerdict> all;
  for (const auto& folder : folders) {
    for (const auto& file : list_folder(folder.path())) {
      const std::string path = file.path().lexically_relative(run_dir);
      if (const auto name = ShardName::parse(path);
          !name || (name->holds != Holds::scores && name->holds != Holds::both))
        continue;
      try {
        collect(run_dir, path, all);
      } catch (const Error& fault) {  // repair sets damaged files aside, too
        unreadable.emplace_back(fault.what());
      }
    }
  }
  return all;
}

}  // namespace rollcall::io
