// Passes read the host's weights, which always have the version version(), so fetch() has no work.
#include "run/policy_store/host_store.hpp"

namespace rollcall::run {

double HostStore::publish(PolicyVersion version, const Publishers& by) {
  if (by.ranks != nullptr) return pack(version, *by.ranks, by.packed);
  policy_->renew(version, std::span<const std::size_t>());
  on_host_ = version;
  return 0.0;
}

void HostStore::fetch(comm::Communicator&, const Fetch&) {}

PolicyStore::Travel HostStore::travel() const {
  Travel travel;
  for (const auto& slice : layout().slices)
    travel.slices.push_back({slice.name, slice.offset, slice.count});
  return travel;
}

}  // namespace rollcall::run
