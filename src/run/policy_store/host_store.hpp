// The store of a run on processors. Passes read the weights in memory that the ranks of a node
// share, so these ranks pack a new version together.
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
