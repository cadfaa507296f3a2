// The state that an optimizer step changes: weights, moments and the phase that they belong to,
// with their files in a checkpoint.
#pragma once

#include "comm/node_groups.hpp"
#include "core/run_config.hpp"
#include "io/checkpoint.hpp"
#include "model/train/policy_optimizer.hpp"
#include "run/checkpoint/background_task.hpp"
#include "run/messages/messages.hpp"
#include "run/step/micro_batch_packing.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// The weights of the policy and this rank's share of the optimizer's moments. Every function but
/// saved(), is_saving() and restore_moments() is collective over the update ranks.
class TrainState {
 public:
  TrainState(RunContext& context, comm::Communicator& ranks);

  /// The optimizer forgets its moments when the phase changes. Otherwise the moments of the
  /// supervised loss would determine the size of the first policy-gradient steps.
  void enter_phase(bool supervised);

  /// Called with the columns of the forward pass of own[i].
  using SeeColumns = std::function<void(std::int64_t i, const model::Columns& columns)>;
  /// Sums the gradients of `count` micro-batches, of which `own` are this rank's, over threads and
  /// ranks. Returns how often each had to run, or nothing where a gradient was not finite. Throws
  /// NumericsError where the exact sum finds no exponent.
  std::optional<int> sum_gradient(const std::vector<BackwardMicroBatch>& own, std::int64_t count,
                                  double temperature, const SeeColumns& see);
  /// One optimizer step with the gradient that sum_gradient() left, and the next version of the
  /// policy. `norm_limit`: a gradient beyond it is a spike and is not applied; 0: no limit.
  UpdateOutcome apply(const OptimizerSection& settings, double lr, double norm_limit,
                      std::map<std::string, double>& metrics);

  /// Brings the weights to the host where a device has newer ones.
  void fetch_weights();
  /// Returns when no writer of a checkpoint reads weights or moments any more. To be called before
  /// anything that a checkpoint reads changes.
  void await_writer();

  /// Starts a thread that writes `share`, this rank's moments, and on the leader the weights. The
  /// thread makes no copy of weights and moments, so both must not change: see await_writer().
  void save(const std::string& checkpoint, io::CheckpointShare share);
  /// Returns what this rank has written, once it is durable. Rethrows an error of the writing.
  std::optional<SaveReport> saved() { return saving_.poll(); }
  bool is_saving() const { return saving_.running(); }

  /// Takes moments, exponents and the phase of this rank's share, whatever number of ranks wrote
  /// them. The weights are restored before.
  void restore_moments(const io::StoredCheckpoint& checkpoint);
  /// Returns when no rank of the node reads the weights any more, neither to save nor to send them.
  void begin_rollback();
  /// Replaces the weights by those of a checkpoint, under the next version. Versions identify the
  /// weights that generation holds, and these must be replaced everywhere.
  void take_back_weights(const io::StoredCheckpoint& checkpoint);

 private:
  std::unique_ptr<model::PolicyOptimizer> make_optimizer();
  void add_moments(io::CheckpointShare& share) const;
  void set_phase(bool supervised);
  void gather_weights();  ///< fetches the weights that ranks of other nodes have changed

  RunContext* context_;
  comm::Communicator* ranks_;
  comm::NodeGroups groups_;
  std::unique_ptr<Collectives> by_transport_;  ///< of the update ranks, for large arrays
  std::vector<std::int64_t> share_offsets_;    ///< [shares + 1] where shares begin in the layout
  int own_share_ = 0;
  model::DeviceOptimizer* device_ = nullptr;  ///< optimizer_ if it runs on a device, else null
  std::unique_ptr<model::PolicyOptimizer> optimizer_;
  std::shared_ptr<const model::GradientMask> mask_;  ///< mask of this rank's share, for training
                                                     ///< steps; null: all weights train
  bool supervised_phase_ = true;
  BackgroundTask<SaveReport> saving_;
  bool save_begun_ = false;  ///< save() was called since await_writer(); the same on all ranks
};

}  // namespace rollcall::run
