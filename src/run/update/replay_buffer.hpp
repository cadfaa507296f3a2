// The groups of earlier steps that may come back: a window over the run's own shards and archive,
// kept in memory by every update rank.
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

/// Holds nothing that the files of the steps so far do not say, so it is in no checkpoint: a
/// resumed run reads it again.
class ReplayBuffer {
 public:
  ReplayBuffer(const ReplaySection& settings, std::uint64_t seed)
      : settings_(settings), seed_(seed) {}
  bool on() const { return settings_.share > 0.0; }
  std::size_t groups() const { return groups_.size(); }

  /// Takes in those of a closed step's own groups that had a rollout to train, as they were trained
  /// on. Steps come in ascending order.
  void remember(StepBatch step);
  /// Drops what is too stale for `policy`, now and for ever, since versions only grow.
  void forget(PolicyVersion policy);
  /// Drops what was sampled before this step.
  void forget_before(std::uint64_t step);
  /// [groups][rollouts] of a batch.
  using RewardsOf = std::function<std::vector<std::vector<double>>(const StepBatch&)>;
  /// Puts this step's choice behind its own groups. `rewards`: by which advantages are told where
  /// they are chosen by; empty: the verifier's.
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

/// The closed training steps before `step` that may hold groups of policy `oldest` or newer,
/// ascending, each as read_step gave it, with what it trained on: from shards, and from archive
/// files where they were packed. Of steps of an earlier build
/// it is not known what they trained on. Collective; every file, the archive's manifest too, is
/// read by one rank. Throws StorageError.
std::vector<StepBatch> read_earlier_steps(const std::filesystem::path& run_dir,
                                          const std::vector<UnpackedFile>& unpacked,
                                          std::uint64_t step, std::uint64_t oldest,
                                          comm::Communicator& ranks);

/// The first step whose rollouts may come back at `step`: that after the last change of the base
/// model where the recipe starts its data anew then (recipe_needs.hpp: reincarnation of ReMix,
/// arXiv:2507.06892); 0 for all others.
std::uint64_t first_replayed(const RunConfig& config, std::uint64_t step);

/// Throws ConfigError when the objective asks for what is not kept with old groups.
void check_replay(const RunConfig& config, const method::Objective& objective);

/// What the batch is made of, for the metrics: train/rollouts_generated, train/rollouts_trained,
/// and replay/... and experts/... where there are any.
std::map<std::string, double> composition(const StepBatch& batch);

}  // namespace rollcall::run
