// The weights of the moment, once per node, and other models for the same kernels.
#pragma once

#include "comm/communicator.hpp"
#include "comm/weight_transfer.hpp"
#include "model/engine/policy.hpp"
#include "model/train/optimizer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// Weights and the packed policy that passes read, which the ranks of a node share. Passes read
/// them in the memory of the host or in that of a device, and there the optimizer writes them:
/// nothing may run the policy while it does. Two bodies say what that means (host_store.hpp,
/// device_store.hpp).
class PolicyStore {
 public:
  /// `weights`: the first ones, on the rank that open() takes them from.
  PolicyStore(model::ModelConfig config, std::optional<model::AlignedFloats> weights,
              const kernels::KernelSet& kernels);
  virtual ~PolicyStore() = default;
  PolicyStore(const PolicyStore&) = delete;
  PolicyStore& operator=(const PolicyStore&) = delete;

  /// Makes the store usable: rank 0 of `node` brings the first weights, and all ranks of the node
  /// pack and share them. Collective over `node`.
  void open(comm::Communicator& node, PolicyVersion version, model::Threads threads);

  const model::ModelConfig& config() const { return config_; }
  const model::WeightLayout& layout() const { return layout_; }
  const kernels::KernelSet& kernels() const { return *kernels_; }
  PolicyVersion version() const { return policy_->version(); }
  const model::PolicyModel& policy() const { return *policy_; }
  /// The host's weights, in layout order, to be written.
  std::span<float> weights() { return weights_->span(); }
  /// The host's weights to be read. They must be those of the version: fetch() sees to it.
  std::span<const float> weights() const { return shared_weights()->span(); }
  std::shared_ptr<const model::AlignedFloats> shared_weights() const;

  /// What AdamW calls to pack a part of the weights when it has written it.
  model::AdamWParts parts();
  /// The part [begin, end) of the layout, whose weights AdamW packs as it writes them.
  struct Stretch {
    std::int64_t begin = 0, end = 0;
  };
  /// Who makes a version of the node's weights readable.
  struct Publishers {
    comm::Communicator* ranks = nullptr;  ///< they wrote the weights and pack them together; null:
                                          ///< other ranks of the node do
    std::span<const Stretch> packed{};    ///< packed already
  };
  /// The weights that were written where passes read them are `version` from now on. Returns the
  /// seconds since all had written them. Collective over the publishers.
  virtual double publish(PolicyVersion version, const Publishers& by) = 0;

  using Read = std::function<void(std::span<float> weights)>;
  /// Replaces the host's weights by those that `read` puts there, on rank 0 of `node`, and
  /// publishes them. Collective over `node`.
  void load(PolicyVersion version, comm::Communicator& node, const Read& read);

  using Fetch = std::function<void(std::span<float> weights)>;
  /// Brings the weights of the version to the host if they are not there. `fetch` is called on all
  /// ranks of `node`, with the place of the weights on its rank 0 and an empty span on the others.
  /// Collective over `node`.
  virtual void fetch(comm::Communicator& node, const Fetch& fetch) = 0;

  /// Whether passes read the weights on a device.
  virtual bool on_device() const = 0;
  /// How new weights travel to ranks that do not train.
  struct Travel {
    std::vector<comm::WeightSlice> slices{};
    bool once_per_node = true;    ///< false: to every rank, where devices have no memory in common
    std::optional<int> device{};  ///< whose memory they travel from and to
  };
  virtual Travel travel() const = 0;
  /// The weights as they travel, where passes read them: as many floats as the slices have.
  virtual std::span<float> travelling_weights() = 0;
  std::string sha256() const;  ///< of the weights, as they are hashed in result.json

 protected:
  /// Packs the host's weights as this version (publish() on a host).
  double pack(PolicyVersion version, comm::Communicator& ranks, std::span<const Stretch> packed);

  std::unique_ptr<model::PolicyModel> policy_;
  PolicyVersion on_host_{};  ///< the version that the host's weights are of

 private:
  model::ModelConfig config_;
  model::WeightLayout layout_;
  const kernels::KernelSet* kernels_;
  std::optional<model::AlignedFloats> first_;      ///< until open()
  std::shared_ptr<model::AlignedFloats> weights_;  ///< shared with the policy, which reads them
                                                   ///< where they are
  model::Threads threads_;
};

/// The store of a run with these kernels, on a device where they are a device's.
std::unique_ptr<PolicyStore> make_policy_store(model::ModelConfig config,
                                               std::optional<model::AlignedFloats> weights,
                                               const kernels::KernelSet& kernels);

/// The model of a folder beside the policy, for the same kernels. Throws ConfigError naming `key`
/// when its vocabulary is another than the policy's, InputError without a model in it.
model::PolicyModel read_policy(const std::string& folder, const PolicyStore& store,
                               const char* key);

}  // namespace rollcall::run
