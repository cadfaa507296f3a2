// Groups of earlier steps that may be trained on again: a window over the run's own shards and
// archive, which every update rank keeps in memory.
#pragma once

#include "comm/communicator.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/step/step_batch.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rollcall::run {

/// A resumed run reads the groups from the files of earlier steps, so they are in no checkpoint.
class ReplayBuffer {
 public:
  ReplayBuffer(const ReplaySection& settings, std::uint64_t seed)
      : settings_(settings), seed_(seed) {}
  bool on() const { return settings_.share > 0.0; }
  std::size_t groups() const { return groups_.size(); }

  /// Adds the groups that a closed step sampled itself and of which a rollout trained, with the
  /// weights and the choice of rollouts that they trained with. Steps come in ascending order.
  void remember(StepBatch step);
  /// Drops groups that are too stale for `policy`. Such a group would never become fresh again,
  /// because versions only grow.
  void forget(PolicyVersion policy);
  /// Drops groups that were sampled before this step.
  void forget_before(std::uint64_t step);
  /// [groups][rollouts] of a batch.
  using RewardsOf = std::function<std::vector<std::vector<double>>(const StepBatch&)>;
  /// Chooses groups for this step and appends them to those that it sampled. `rewards`: gives the
  /// rewards of which advantages are made where replay.choose is "advantage"; empty: the rewards of
  /// the verifier.
  void add_to(StepBatch& batch, std::uint64_t step, const RewardsOf& rewards = {}) const;

 private:
  struct Kept {
    Group group;
    std::vector<Score> scores;
    scheduling::GroupTraining training;
    std::uint64_t version = 0;
  };
  /// [groups] mean |reward - mean|
  std::vector<double> advantages(const StepBatch& batch, const RewardsOf& rewards) const;
  StepBatch kept(const std::vector<std::string>& component_names, bool with_rollouts) const;
  ReplaySection settings_;
  std::uint64_t seed_;
  std::vector<Kept> groups_;  // ascending GroupId
};

/// The training steps before `step` that may hold groups of policy version `oldest` or newer, in
/// ascending order, each as read_step() returned it and with what it trained on. They are read from
/// shards, or from archive files where they were packed. For steps of an earlier build it is not
/// known what they trained on. Collective: one rank reads each file, and one the archive's
/// manifest. Throws StorageError.
std::vector<StepBatch> read_earlier_steps(const std::filesystem::path& run_dir,
                                          const std::vector<UnpackedFile>& unpacked,
                                          std::uint64_t step, std::uint64_t oldest,
                                          comm::Communicator& ranks);

/// The first step whose rollouts may be trained on again at `step`. For a recipe whose data begin
/// anew with each change of the base model (recipe_needs.hpp: reincarnation of ReMix,
/// arXiv:2507.06892) that is the step after the last change; for all others it is 0.
std::uint64_t first_replayed(const RunConfig& config, std::uint64_t step);

/// Throws ConfigError when the objective reads columns that are not kept with old groups.
void check_replay(const RunConfig& config, const method::Objective& objective);

/// Metrics of what the batch is made of: train/rollouts_generated and train/rollouts_trained, and
/// replay/... and experts/... where the batch has such rollouts.
std::map<std::string, double> composition(const StepBatch& batch);

}  // namespace rollcall::run
