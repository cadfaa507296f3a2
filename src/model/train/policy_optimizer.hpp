// The optimizer of a policy, on the host or on the device that the policy runs on: the sum of
// gradients, AdamW, and this rank's share of their state.
#pragma once

#include "model/engine/policy.hpp"
#include "model/train/optimizer.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::model {

/// A step is start(), add() for every micro-batch, and finish(). On `repeat` it starts again with
/// the same micro-batches. On `ready` apply() follows. All ranks make the same calls.
class PolicyOptimizer {
 public:
  virtual ~PolicyOptimizer() = default;
  virtual void start() = 0;
  /// Runs the micro-batch's forward and backward pass and adds its gradient to the sum.
  virtual Columns add(MicroBatchRunner& runner, const PolicyModel& policy,
                      const MicroBatch& micro_batch, double temperature,
                      const ColumnGradient& derivative) = 0;
  virtual void add_none() = 0;  ///< called by a rank without a micro-batch while others add one
  virtual SumOutcome finish(Collectives& ranks) = 0;
  virtual double norm() const = 0;  ///< norm of the whole gradient, after `ready`
  /// AdamW with the gradient. The ranks of a node must have a barrier before the next start().
  virtual void apply(const OptimizerSection& settings, double lr) = 0;

  virtual void forget() = 0;  ///< sets the moments and the number of steps to zero
  /// From the next start() on, only these weights of this rank's share train, or all of them if
  /// null. A device supports no mask.
  virtual void only(std::shared_ptr<const GradientMask> mask) = 0;
  virtual const std::vector<std::int64_t>& exponents() const = 0;
  /// The moments of this rank's share. On the host these are the ones that apply() changes; from a
  /// device they are a copy.
  virtual std::shared_ptr<const OptimizerState> state() = 0;
  /// Restores what state() and exponents() returned. read(m, v) fills the moments of a share.
  using ReadMoments = std::function<void(std::span<float> m, std::span<float> v)>;
  virtual void restore(std::span<const std::int64_t> exponents, std::int64_t step,
                       const ReadMoments& read) = 0;
};

/// The weights that the ranks of a node share, and what is done with updated parts of them.
struct HostWeights {
  std::span<float> weights{};
  AdamWParts parts{};
};
std::unique_ptr<PolicyOptimizer> make_host_optimizer(const WeightLayout& layout, SharedSum sum,
                                                     Threads threads, HostWeights weights);

/// An optimizer whose fp32 weights, moments and sum of gradients are in device memory, where each
/// rank has its share. A micro-batch's gradient is summed over the ranks into their shares one part
/// of the model at a time (the head, a block, ...), so add() and add_none() are collective. apply()
/// writes the new weights where the policy's passes read them, on all ranks. The weights on the
/// host stay as they are.
class DeviceOptimizer : public PolicyOptimizer {
 public:
  /// Copies this rank's share from weights of the whole layout on the host.
  virtual void take(std::span<const float> weights) = 0;
  /// Copies all ranks' shares to the host. A rank that wants the weights passes a span of the
  /// layout's size, the others an empty one. Collective.
  virtual void fetch(std::span<float> weights) = 0;
};
/// `share_offsets` [ranks + 1]: rank r has the elements [share_offsets[r], share_offsets[r + 1]) of
/// the layout. `ranks` exchange device memory. The optimizer begins with the weights that the
/// policy has on the host.
std::unique_ptr<DeviceOptimizer> make_device_optimizer(const PolicyModel& policy,
                                                       std::vector<std::int64_t> share_offsets,
                                                       Collectives& ranks);

/// The weights of a policy as its device reads them. If those of the host are newer, they are
/// copied to the device first. These weights are sent to ranks that only generate.
std::span<float> device_weights(const PolicyModel& policy);

}  // namespace rollcall::model
