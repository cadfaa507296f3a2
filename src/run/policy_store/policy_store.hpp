// The weights of the moment, once a node, and other models for the same kernels.
#pragma once

#include "comm/communicator.hpp"
#include "model/engine/policy.hpp"
#include "model/train/optimizer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rollcall::run {

/// Weights of the moment and the packed policy made of them, for the kernels of the run: once a
/// node. AdamW writes what generation reads, so nothing may run the policy while it works.
class PolicyStore {
 public:
  /// `weights`: the first ones, on the rank that open() takes them from.
  PolicyStore(model::ModelConfig config, std::optional<model::AlignedFloats> weights,
              const kernels::KernelSet& kernels);
  /// From then on the store is usable: weights and their packed copy, of which the ranks of `node`
  /// share one; its rank 0 brings the weights. Collective.
  void open(comm::Communicator& node, PolicyVersion version, model::Threads threads);
  const model::ModelConfig& config() const { return config_; }
  const model::WeightLayout& layout() const { return layout_; }
  std::span<float> weights() { return weights_->span(); }  ///< for what is written into them
  std::span<const float> weights() const { return shared_weights()->span(); }
  std::shared_ptr<const model::AlignedFloats> shared_weights() const;
  /// Whether passes read the weights on a device, where an optimizer may have newer ones than the
  /// host.
  bool on_device() const {
    return kernels_->numerics == std::string_view(kernels::kCudaBf16Sliced8);
  }
  const kernels::KernelSet& kernels() const { return *kernels_; }
  PolicyVersion version() const { return policy_->version(); }
  const model::PolicyModel& policy() const { return *policy_; }
  /// What AdamW writes of [begin, end) of the weights is packed at once.
  struct Stretch {
    std::int64_t begin = 0, end = 0;
  };
  model::AdamWParts parts();
  /// The weights as they are now under this version, for all ranks of the node: those of `node`,
  /// who wrote them, pack what is not packed, which is all but the parts inside `packed`. Returns
  /// the seconds since all had written. Collective over `node`.
  double publish(PolicyVersion version, comm::Communicator& node,
                 std::span<const Stretch> packed = {});
  void take(PolicyVersion version);  ///< what others of the node have published
  /// This version is on the device. The host's weights stay what they were, and may not be read,
  /// until fetched().
  void publish_on_device(PolicyVersion version);
  bool is_fetched() const { return fetched_ == version(); }
  void fetched() { fetched_ = version(); }  ///< the host's weights are those of the version
  std::string sha256() const;

 private:
  model::ModelConfig config_;
  model::WeightLayout layout_;
  const kernels::KernelSet* kernels_;
  std::optional<model::AlignedFloats> first_;      ///< until open()
  std::shared_ptr<model::AlignedFloats> weights_;  ///< shared with the policy, which reads them
                                                   ///< where they are
  std::unique_ptr<model::PolicyModel> policy_;
  PolicyVersion fetched_{};  ///< of the host's weights
  model::Threads threads_;
};

/// The model of a folder beside the policy, for the same kernels. Throws ConfigError naming `key`
/// when its vocabulary is another than the policy's, InputError without a model in it.
model::PolicyModel read_policy(const std::string& folder, const PolicyStore& store,
                               const char* key);

}  // namespace rollcall::run
