// The frozen or slowly moving model that a KL term compares the policy with.
#pragma once

#include "core/run_config.hpp"
#include "io/checkpoint.hpp"
#include "model/engine/policy.hpp"
#include "run/policy_store/policy_store.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace rollcall::run {

/// The reference of an objective that reads one: the folder that reference.model names, otherwise
/// the policy as it was when training began. It may follow the policy as a moving average
/// (reference.decay) or be replaced by it (reference.refresh_every).
class ReferenceModel {
 public:
  /// Reads reference.model where it is set. Throws ConfigError where its shape is not the policy's,
  /// and InputError where it is no model folder. Both arguments must outlive the reference.
  ReferenceModel(const RunConfig& config, const PolicyStore& store);

  /// The model for forward passes. There is one from begin_training() on.
  const model::PolicyModel& model() const { return *model_; }

  bool takes_policy() const { return !weights_; }  ///< begin_training() will copy the policy
  /// Makes the policy the reference, unless one was read or restored.
  void begin_training();
  bool changes(std::uint64_t step) const;  ///< after_step() will change the reference
  /// The moving average or the refresh after an optimizer step.
  void after_step(std::uint64_t step);

  /// Adds the reference to a share of the checkpoint `name`; one that has not changed is taken over
  /// from the checkpoint before. Nothing before training has begun.
  void add_to(io::CheckpointShare& share, const std::string& name);
  /// A checkpoint without a reference was made before training began, or by the run that a branch
  /// comes from: the next training step then makes the policy its reference, unless
  /// reference.model names one.
  void restore(const io::StoredCheckpoint& checkpoint);

 private:
  void set(model::AlignedFloats weights);
  void drop();  ///< removes the reference before another is read, since two may not fit into memory

  const ReferenceSection* settings_;
  const PolicyStore* store_;
  std::shared_ptr<model::AlignedFloats> weights_;  ///< in layout order
  std::int64_t revision_ = 0;  ///< grows with every change: an unchanged reference needs no second
                               ///< copy on disk
  std::optional<model::PolicyModel> model_;
  /// The last checkpoint that holds the reference, and its revision there.
  std::optional<std::pair<std::string, std::int64_t>> saved_;
};

}  // namespace rollcall::run
