// Shares memory among a node's ranks, packs weights by all of them, and chooses host or device.
#include "run/policy_store/policy_store.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "model/support/huge_blocks.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/policy_store/device_store.hpp"
#include "run/policy_store/host_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::run {

PolicyStore::PolicyStore(model::ModelConfig config, std::optional<model::AlignedFloats> weights,
                         const kernels::KernelSet& kernels)
    : config_(std::move(config)),
      layout_(model::trained_layout(config_)),
      kernels_(&kernels),
      first_(std::move(weights)) {
  expect(!first_ || std::int64_t(first_->size()) == layout_.size,
         "the buffer has the layout's size");
}

void PolicyStore::open(comm::Communicator& node, PolicyVersion version, model::Threads threads) {
  expect(node.rank() != 0 || first_.has_value(), "the first rank of a node has read the weights");
  threads_ = std::move(threads);
  model::AlignedArray<std::byte> panels;
  if (node.size() == 1) {
    weights_ = std::make_shared<model::AlignedFloats>(std::move(*first_));
    panels = model::AlignedArray<std::byte>(std::size_t(model::packed_bytes(config_, *kernels_)));
  } else {
    // Panels begin on a page of memory.
    const std::size_t bytes = (std::size_t(layout_.size) * sizeof(float) + 4095) / 4096 * 4096;
    const auto memory =
        node.share_memory(bytes + std::size_t(model::packed_bytes(config_, *kernels_)));
    weights_ = std::make_shared<model::AlignedFloats>(
        memory.view<float>(0, std::size_t(layout_.size)), memory.owner);
    panels = model::AlignedArray<std::byte>(memory.bytes.subspan(bytes), memory.owner);
    if (node.rank() == 0) std::copy(first_->span().begin(), first_->span().end(), weights_->data());
  }
  first_.reset();
  model::huge_blocks().release_idle();  // frees the copy of the weights that is now shared
  policy_ = std::make_unique<model::PolicyModel>(config_, weights_, std::move(panels), *kernels_);
  pack(version, node, {});
}

double PolicyStore::pack(PolicyVersion version, comm::Communicator& ranks,
                         std::span<const Stretch> packed) {
  ranks.barrier();  // all ranks have written their weights
  const Stopwatch since;
  std::vector<std::size_t> own_parts;
  int left = 0;
  const auto cuts = policy_->cuts();
  for (std::size_t part = 0; part + 1 < cuts.size(); ++part) {
    const auto holds = [&](const Stretch& stretch) {
      return stretch.begin <= cuts[part] && cuts[part + 1] <= stretch.end;
    };
    if (std::any_of(packed.begin(), packed.end(), holds)) continue;
    if (left++ % ranks.size() == ranks.rank()) own_parts.push_back(part);
  }
  policy_->renew(version, own_parts, threads_);
  if (left > 0) ranks.barrier();  // all ranks have packed their parts
  on_host_ = version;
  return since.seconds();
}

void PolicyStore::load(PolicyVersion version, comm::Communicator& node, const Read& read) {
  if (node.rank() == 0) read(weights());
  pack(version, node, {});
}

std::shared_ptr<const model::AlignedFloats> PolicyStore::shared_weights() const {
  expect(on_host_ == version(), "weights are read where they are new");
  return weights_;
}

model::AdamWParts PolicyStore::parts() {
  return {policy_->cuts(), [this](std::size_t part) { policy_->renew_part(part); }};
}

std::string PolicyStore::sha256() const { return model::weights_sha256(layout_, weights()); }

std::unique_ptr<PolicyStore> make_policy_store(model::ModelConfig config,
                                               std::optional<model::AlignedFloats> weights,
                                               const kernels::KernelSet& kernels) {
  if (kernels.numerics == std::string_view(kernels::kCudaBf16Sliced8))
    return std::make_unique<DeviceStore>(std::move(config), std::move(weights), kernels);
  return std::make_unique<HostStore>(std::move(config), std::move(weights), kernels);
}

model::PolicyModel read_policy(const std::string& folder, const PolicyStore& store,
                               const char* key) {
  model::PolicyModel policy = model::read_policy(folder, &store.kernels());
  require<ConfigError>(policy.config().vocab_size == store.config().vocab_size,
                       fmt::format("{} = {} has {} tokens, the policy {}", key, folder,
                                   policy.config().vocab_size, store.config().vocab_size),
                       "log-probs of the same tokens are compared",
                       "use a model with the policy's tokenizer");
  return policy;
}

}  // namespace rollcall::run
