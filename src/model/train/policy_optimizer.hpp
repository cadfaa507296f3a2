// The optimizer of a policy, where the policy runs: the sum of gradients, AdamW, and this rank's
// share of what they keep from step to step.
#pragma once

#include "model/engine/policy.hpp"
#include "model/train/optimizer.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::model {

/// One step: start, add every micro-batch, finish; on `repeat` start and add the same micro-batches
/// again; after `ready` apply. Every rank does so alike.
class PolicyOptimizer {
 public:
  virtual ~PolicyOptimizer() = default;
  virtual void start() = 0;
  /// The micro-batch's forward and backward pass; its gradient is added to the sum.
  virtual Columns add(MicroBatchRunner& runner, const PolicyModel& policy,
                      const MicroBatch& micro_batch, double temperature,
                      const ColumnGradient& derivative) = 0;
  virtual void add_none() = 0;  ///< what a rank does that has no micro-batch while others add one
  virtual SumOutcome finish(Collectives& ranks) = 0;
  virtual double norm() const = 0;  ///< after `ready`
  /// The ranks of a node come together before the next start().
  virtual void apply(const OptimizerSection& settings, double lr) = 0;

  virtual void forget() = 0;  ///< the moments, and the steps taken
  /// From the next start() on only these weights of this rank's share train; null: all. A device
  /// has no mask.
  virtual void only(std::shared_ptr<const GradientMask> mask) = 0;
  virtual const std::vector<std::int64_t>& exponents() const = 0;
  /// The moments of this rank's share: those that apply() changes, or a copy where they stand on a
  /// device.
  virtual std::shared_ptr<const OptimizerState> state() = 0;
  /// What state() and exponents() gave; read(m, v) fills a share.
  using ReadMoments = std::function<void(std::span<float> m, std::span<float> v)>;
  virtual void restore(std::span<const std::int64_t> exponents, std::int64_t step,
                       const ReadMoments& read) = 0;
};

/// AdamW on weights that the ranks of a node share; `parts`: what is done with those that are new.
struct HostWeights {
  std::span<float> weights{};
  AdamWParts parts{};
};
std::unique_ptr<PolicyOptimizer> make_host_optimizer(const WeightLayout& layout, SharedSum sum,
                                                     Threads threads, HostWeights weights);

/// Weights in fp32, moments and the sum of gradients in the memory of a device, each rank's share
/// there. A micro-batch's gradient is summed over the ranks and dealt to their shares one part of
/// the model after the other (the head, a block, ..), so add() and add_none() are collective.
/// apply() leaves the new weights where the policy's passes read them, on all ranks; those of the
/// host stay as they are.
class DeviceOptimizer : public PolicyOptimizer {
 public:
  virtual void take(std::span<const float> weights) = 0;  ///< of the whole layout, from the host
  /// All ranks' to the host of those that give memory for the whole layout (others an empty span).
  /// Collective.
  virtual void fetch(std::span<float> weights) = 0;
};
/// `share_offsets` [ranks + 1]: rank r has the elements [share_offsets[r], share_offsets[r + 1]) of
/// the layout. `ranks` exchange device memory. The optimizer begins with the weights that the
/// policy has on the host.
std::unique_ptr<DeviceOptimizer> make_device_optimizer(const PolicyModel& policy,
                                                       std::vector<std::int64_t> share_offsets,
                                                       Collectives& ranks);

/// A policy's weights as its device reads them, the host's where those are newer: what travels to
/// ranks that only generate.
std::span<float> device_weights(const PolicyModel& policy);

}  // namespace rollcall::model
