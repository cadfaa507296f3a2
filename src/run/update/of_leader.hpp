// A value that the leader of the update ranks has and the others do not.
#pragma once

#include "comm/communicator.hpp"
#include "run/messages/message_bytes.hpp"

#include <string>

namespace rollcall::run {

/// The value of rank 0 of `ranks`, on all of them. Collective.
template <class T>
T of_leader(comm::Communicator& ranks, const T& value) {
  return from_bytes<T>(comm::spread(ranks, ranks.rank() == 0 ? to_bytes(value) : std::string(), 0));
}

}  // namespace rollcall::run
