// Remembers groups of closed steps, chooses among them, and reads them back after a stop.
#include "run/update/replay_buffer.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/differing.hpp"
#include "io/archive.hpp"
#include "method/columns.hpp"
#include "run/checkpoint/earlier_files.hpp"
#include "run/context/recipe_needs.hpp"
#include "run/folder/branch_leftovers.hpp"
#include "run/messages/message_bytes.hpp"
#include "run/step/group_training.hpp"
#include "run/step/step_wire.hpp"
#include "scheduling/replay_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::run {
namespace {

/// Mean of |reward - mean|. It is exactly 0 if the rewards differ only by rounding.
double mean_advantage(const std::vector<double>& rewards) {
  if (!differ(rewards)) return 0.0;
  double sum = 0.0, distance = 0.0;
  for (const double reward : rewards) sum += reward;
  for (const double reward : rewards) distance += std::abs(reward - sum / double(rewards.size()));
  return distance / double(rewards.size());
}

std::vector<std::vector<double>> verifiers_rewards(const StepBatch& batch) {
  std::vector<std::vector<double>> rewards;
  for (const auto& scores : batch.scores) {
    auto& of_group = rewards.emplace_back();
    for (const Score& score : scores) of_group.push_back(score.reward);
  }
  return rewards;
}

/// The contents of the archive that one rank has found for all ranks.
struct Packed {
  /// first and last step of every file, fresh enough or not
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches;
  std::map<std::uint64_t, std::string> steps;  ///< by step, as bytes of to_wire()

  bool holds(std::uint64_t step) const {
    return std::any_of(stretches.begin(), stretches.end(), [&](const auto& stretch) {
      return stretch.first <= step && step <= stretch.second;
    });
  }
  template <class A>
  void serialize(A& ar, unsigned) {
    ar& stretches& steps;
  }
};

/// Records in `batch` which of its rollouts trained, on all ranks. `batch` is a step with shards
/// that are not packed.
void add_recorded(StepBatch& batch, const std::filesystem::path& run_dir,
                  const io::PublishedFile& file, comm::Communicator& ranks) {
  std::string told;
  if (ranks.rank() == 0) {
    const auto step = io::read_training(run_dir, file);
    std::vector<scheduling::GroupTraining> groups;
    for (const Group& group : batch.groups)
      groups.push_back(recorded(group.id, io::training_of(step, group)));
    told = to_bytes(groups);
  }
  batch.training =
      from_bytes<std::vector<scheduling::GroupTraining>>(comm::spread(ranks, std::move(told), 0));
}

bool any_since(const StepBatch& batch, std::uint64_t oldest) {
  return std::any_of(batch.groups.begin(), batch.groups.end(),
                     [&](const Group& group) { return sampled_by(group).value_or(0) >= oldest; });
}

/// The steps of one archive file. Their groups are already in canonical order.
std::map<std::uint64_t, StepBatch> read_packed(const std::filesystem::path& run_dir,
                                               const io::ArchiveEntry& entry) {
  std::map<std::uint64_t, StepBatch> steps;
  std::vector<std::string> component_names;
  for (auto& archived : io::read_archive(run_dir, entry, &component_names)) {
    auto& batch = steps[archived.step];
    batch.component_names = component_names;
    if (!archived.training.empty()) {  // a step has `training` for all groups or for none
      batch.training.resize(batch.groups.size());
      batch.training.push_back(recorded(archived.group.id, archived.training));
    }
    batch.groups.push_back(std::move(archived.group));
    batch.scores.push_back(std::move(archived.scores));
  }
  return steps;
}

/// Reads the newest file first and stops at one without fresh groups, since versions grow with
/// steps.
Packed read_packed_since(const std::filesystem::path& run_dir, std::uint64_t before,
                         std::uint64_t oldest) {
  auto entries = io::read_manifest(run_dir);
  std::erase_if(entries, [](const auto& entry) { return entry.purpose != "train"; });
  Packed all;
  for (const auto& entry : entries) all.stretches.emplace_back(entry.first_step, entry.last_step);
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.first_step > b.first_step; });
  for (const auto& entry : entries) {
    if (entry.first_step >= before) continue;
    auto packed = read_packed(run_dir, entry);
    std::erase_if(packed, [&](const auto& step) {
      return step.first >= before || !any_since(step.second, oldest);
    });
    if (packed.empty()) break;
    for (const auto& [number, step] : packed) all.steps.try_emplace(number, to_wire(step));
  }
  return all;
}

}  // namespace

void ReplayBuffer::remember(StepBatch step) {
  for (std::size_t g = 0; g < step.groups.size(); ++g) {
    const auto version = sampled_by(step.groups[g]);
    // The group has nothing to train on, or the scheduler left it out.
    if (!version || trained_rollouts(step, g) == 0) continue;
    auto training = step.training.empty() ? scheduling::GroupTraining{.id = step.groups[g].id}
                                          : std::move(step.training[g]);
    groups_.push_back(
        {std::move(step.groups[g]), std::move(step.scores[g]), std::move(training), *version});
  }
}

void ReplayBuffer::forget(PolicyVersion policy) {
  std::erase_if(groups_, [&](const Kept& kept) {
    return kept.version + std::uint64_t(settings_.max_staleness) < policy.value;
  });
}

void ReplayBuffer::forget_before(std::uint64_t step) {
  std::erase_if(groups_, [&](const Kept& kept) { return kept.group.id.step < step; });
}

std::vector<double> ReplayBuffer::advantages(const StepBatch& batch,
                                             const RewardsOf& rewards) const {
  std::vector<double> all;
  // Only replay.choose = "advantage" reads rewards.
  const bool heard = rewards && settings_.choose == "advantage" && !batch.groups.empty();
  for (const auto& of_group : heard ? rewards(batch) : verifiers_rewards(batch))
    all.push_back(mean_advantage(of_group));
  return all;
}

StepBatch ReplayBuffer::kept(const std::vector<std::string>& component_names,
                             bool with_rollouts) const {
  StepBatch batch{.groups = {}, .scores = {}, .component_names = component_names};
  for (const auto& kept : groups_) {
    batch.groups.push_back(
        with_rollouts ? kept.group
                      : Group{.id = kept.group.id, .level = kept.group.level, .rollouts = {}});
    batch.scores.push_back(kept.scores);
  }
  return batch;
}

void ReplayBuffer::add_to(StepBatch& batch, std::uint64_t step, const RewardsOf& rewards) const {
  std::vector<scheduling::ReplayCandidate> candidates;
  const auto by_kept = settings_.choose == "advantage"
                           ? advantages(kept(batch.component_names, bool(rewards)), rewards)
                           : std::vector<double>(groups_.size());
  for (std::size_t k = 0; k < groups_.size(); ++k)
    candidates.push_back({groups_[k].group.id, groups_[k].version, by_kept[k]});
  const auto own = advantages(batch, rewards);
  const auto equal = std::count(own.begin(), own.end(), 0.0);
  std::size_t fresh = 0;
  for (std::size_t g = 0; g < batch.groups.size(); ++g)
    fresh += trained_rollouts(batch, g) > 0 ? 1 : 0;
  const auto chosen = scheduling::choose_replay(
      settings_, {seed_, step, batch.policy.value, fresh, std::size_t(equal)}, candidates);
  if (batch.training.empty()) decide(batch, {});
  for (const std::size_t i : chosen) {
    batch.training.push_back(groups_[i].training);
    batch.groups.push_back(groups_[i].group);
    batch.scores.push_back(groups_[i].scores);
  }
  batch.replayed = chosen.size();
}

std::vector<StepBatch> read_earlier_steps(const std::filesystem::path& run_dir,
                                          const std::vector<UnpackedFile>& unpacked,
                                          std::uint64_t step, std::uint64_t oldest,
                                          comm::Communicator& ranks) {
  // All ranks use the same view of the manifest, which decides how many steps are read together.
  const bool leads = ranks.rank() == 0;
  auto packed = from_bytes<Packed>(comm::spread(
      ranks, leads ? to_bytes(read_packed_since(run_dir, step, oldest)) : std::string(), 0));
  std::map<std::uint64_t, std::vector<ScoredFile>> loose;
  std::map<std::uint64_t, io::PublishedFile> trained;
  for (const auto& file : unpacked) {
    if (file.purpose != Purpose::train || file.step >= step || packed.holds(file.step)) continue;
    if (is_training(file)) trained[file.step] = file.files.shard;
    else loose[file.step].push_back(file.files);
  }
  std::map<std::uint64_t, StepBatch> steps;
  for (const auto& [number, bytes] : packed.steps) steps[number] = from_wire(bytes);
  std::vector<int> readers(std::size_t(ranks.size()));
  std::iota(readers.begin(), readers.end(), 0);
  for (auto& [number, files] : loose)
    steps[number] =
        read_step(run_dir, shared_out(std::move(files), readers)[std::size_t(ranks.rank())], ranks);
  for (const auto& [number, file] : trained) add_recorded(steps[number], run_dir, file, ranks);
  const auto list = earlier_list(run_dir);  // only a branch has one
  const std::string listed = comm::spread(
      ranks, leads && std::filesystem::exists(list) ? read_file(list) : std::string(), 0);
  if (!listed.empty()) {
    const auto before = parse_earlier(listed, list.string());
    for (auto& batch : read_earlier_steps(run_dir / kParentFolder, before.unpacked,
                                          std::min(step, before.before), oldest, ranks))
      if (!batch.groups.empty()) steps.try_emplace(batch.groups.front().id.step, std::move(batch));
  }
  std::vector<StepBatch> ascending;
  for (auto& [number, batch] : steps) ascending.push_back(std::move(batch));
  return ascending;
}

std::uint64_t first_replayed(const RunConfig& config, std::uint64_t step) {
  const auto every = std::uint64_t(config.reference.refresh_every);
  return every == 0 || !forgets_at_refresh(config) ? 0 : (step - 1) / every * every + 1;
}

void check_replay(const RunConfig& config, const method::Objective& objective) {
  const auto columns = objective.columns();
  const bool greedy =
      std::find(columns.begin(), columns.end(), method::column::greedy_reward) != columns.end();
  require<ConfigError>(
      !greedy || config.replay.share == 0.0,
      fmt::format("objective.recipe {} compares with greedy answers, and replay.share is {}",
                  config.objective.recipe, config.replay.share),
      "a replayed group would need the greedy answer of a policy that is gone",
      "set replay.share=0 or choose another recipe");
}

std::map<std::string, double> composition(const StepBatch& batch) {
  double generated = double(batch.undecided + batch.left.size()), trained = 0.0, experts = 0.0,
         guided = 0.0, beginnings = 0.0, replayed = 0.0, lag_sum = 0.0, lag_max = 0.0;
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    const auto rollouts = double(batch.groups[g].rollouts.size());
    const auto expert = double(
        std::count_if(batch.groups[g].rollouts.begin(), batch.groups[g].rollouts.end(), is_expert));
    const auto train = double(trained_rollouts(batch, g));
    trained += train, experts += expert;
    if (g < fresh_groups(batch)) {
      generated += rollouts - expert;
      // Answers to derived prompts may have a beginning that does not come from a guide.
      const auto own =
          double(std::count_if(batch.groups[g].rollouts.begin(), batch.groups[g].rollouts.end(),
                               [](const Rollout& r) { return !is_expert(r) && !r.placed; }));
      const bool plain = is_plain(batch.groups[g].from) && own > 0;
      const auto beginning = plain ? guide_tokens(batch.groups[g]) : 0;
      guided += beginning > 0 ? own : 0.0, beginnings += double(beginning) * own;
      continue;
    }
    const auto lag =
        double(batch.policy.value - sampled_by(batch.groups[g]).value_or(batch.policy.value));
    replayed += train, lag_sum += lag, lag_max = std::max(lag_max, lag);
  }
  std::map<std::string, double> metrics{{"train/rollouts_generated", generated},
                                        {"train/rollouts_trained", trained}};
  if (experts > 0) metrics["experts/rollouts"] = experts;
  if (guided > 0)
    metrics["guide/rollouts"] = guided, metrics["guide/tokens_mean"] = beginnings / guided;
  if (batch.replayed > 0) {
    metrics["replay/groups"] = double(batch.replayed), metrics["replay/rollouts"] = replayed;
    metrics["replay/staleness_mean"] = lag_sum / double(batch.replayed),
    metrics["replay/staleness_max"] = lag_max;
  }
  return metrics;
}

}  // namespace rollcall::run
