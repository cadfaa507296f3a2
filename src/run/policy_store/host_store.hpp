// The store of a run on processors: passes read the weights in the memory that a node's ranks
// share, and so a new version is packed by them together.
#pragma once

#include "run/policy_store/policy_store.hpp"

namespace rollcall::run {

class HostStore final : public PolicyStore {
 public:
  using PolicyStore::PolicyStore;
  double publish(PolicyVersion version, const Publishers& by) override;
  void fetch(comm::Communicator& node, const Fetch& fetch) override;
  bool on_device() const override { return false; }
  Travel travel() const override;
  std::span<float> travelling_weights() override { return weights(); }
};

}  // namespace rollcall::run
