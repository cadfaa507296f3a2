// The store of a run on devices. The optimizer leaves new weights where the passes of its device
// read them. The host has the weights of a version only after they were loaded or fetched.
#pragma once

#include "run/policy_store/policy_store.hpp"

namespace rollcall::run {

class DeviceStore final : public PolicyStore {
 public:
  using PolicyStore::PolicyStore;
  double publish(PolicyVersion version, const Publishers& by) override;
  void fetch(comm::Communicator& node, const Fetch& fetch) override;
  bool on_device() const override { return true; }
  Travel travel() const override;
  std::span<float> travelling_weights() override;
};

}  // namespace rollcall::run
