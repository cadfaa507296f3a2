// The current weights of the policy, once per node. Also reads other models for the same kernels.
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

/// The policy's weights, as fp32 and packed for the kernels, which the ranks of a node share.
/// Forward and backward passes read the packed weights on the host (host_store.hpp) or on a device
/// (device_store.hpp). The optimizer writes to the same place, so nothing may run the policy while
/// it does.
class PolicyStore {
 public:
  /// `weights`: the run's first weights; only rank 0 of the node that open() gets needs them.
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
  /// The host's weights, for reading. They must be those of version(); call fetch() before.
  std::span<const float> weights() const { return shared_weights()->span(); }
  std::shared_ptr<const model::AlignedFloats> shared_weights() const;

  /// The parts in which weights are packed, and the function with which AdamW packs a part as soon
  /// as it has written the weights of that part.
  model::AdamWParts parts();
  /// The part [begin, end) of the layout, whose weights AdamW packs as it writes them.
  struct Stretch {
    std::int64_t begin = 0, end = 0;
  };
  /// Who makes a version of the node's weights readable.
  struct Publishers {
    comm::Communicator* ranks = nullptr;  ///< the ranks that wrote the weights and pack them
                                          ///< together; null: other ranks of the node do both
    std::span<const Stretch> packed{};    ///< parts of the layout that are packed already
  };
  /// Makes the weights that were written into this store `version`: passes read them from now on.
  /// Returns the seconds since all publishers had written. Collective over the publishers.
  virtual double publish(PolicyVersion version, const Publishers& by) = 0;

  using Read = std::function<void(std::span<float> weights)>;
  /// Replaces the host's weights by those that `read` puts there, on rank 0 of `node`, and
  /// publishes them. Collective over `node`.
  void load(PolicyVersion version, comm::Communicator& node, const Read& read);

  using Fetch = std::function<void(std::span<float> weights)>;
  /// Brings the weights of version() to the host if they are not there. Then `fetch` is called on
  /// all ranks of `node`: with the host's weights, to be filled, on its rank 0, and with an empty
  /// span on the others. Collective over `node`.
  virtual void fetch(comm::Communicator& node, const Fetch& fetch) = 0;

  /// Whether passes read the weights on a device.
  virtual bool on_device() const = 0;
  /// How new weights reach the ranks that do not train.
  struct Travel {
    std::vector<comm::WeightSlice> slices{};
    bool once_per_node = true;    ///< whether one rank of a node receives them; false: every rank,
                                  ///< since devices have no memory in common
    std::optional<int> device{};  ///< the device whose memory the weights travel from and to;
                                  ///< nothing: the host's memory
  };
  virtual Travel travel() const = 0;
  /// The weights as they travel, where passes read them: as many floats as the slices have.
  virtual std::span<float> travelling_weights() = 0;
  std::string sha256() const;  ///< hash of the host's weights, the one in result.json

 protected:
  /// Packs the host's weights as this version (publish() on a host).
  double pack(PolicyVersion version, comm::Communicator& ranks, std::span<const Stretch> packed);

  std::unique_ptr<model::PolicyModel> policy_;
  PolicyVersion on_host_{};  ///< the version that the host's weights are of

 private:
  model::ModelConfig config_;
  model::WeightLayout layout_;
  const kernels::KernelSet* kernels_;
  std::optional<model::AlignedFloats> first_;      ///< the first weights, until open()
  std::shared_ptr<model::AlignedFloats> weights_;  ///< the host's weights; policy_ reads them where
                                                   ///< they are
  model::Threads threads_;
};

/// The store of a run with these kernels, on a device where they are a device's.
std::unique_ptr<PolicyStore> make_policy_store(model::ModelConfig config,
                                               std::optional<model::AlignedFloats> weights,
                                               const kernels::KernelSet& kernels);

/// Reads a model other than the policy from a folder, for the same kernels. Throws ConfigError
/// naming `key` when its vocabulary differs from the policy's, and InputError when the folder has
/// no model.
model::PolicyModel read_policy(const std::string& folder, const PolicyStore& store,
                               const char* key);

}  // namespace rollcall::run
