// A phase of a collective operation: every rank runs its part, then all learn whether every part succeeded. Private to io.
#pragma once

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "core/serialize.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rollcall::io {

/// Runs `phase` (which returns bytes for the other ranks) and exchanges results and faults in one collective, so that a rank that failed is not waited
/// for: all ranks throw with the words of the lowest rank that failed, EnvironmentError where that was one, else StorageError. Returns the bytes of every rank.
template <class F>
std::vector<std::string> agreed(comm::Communicator& ranks, const F& phase) {
  using Fault = std::pair<std::string, bool>;  // words, and whether the environment is at fault and not a file
  std::pair<Fault, std::string> mine;          // fault, result
  try {
    mine.second = phase();
  } catch (const std::exception& fault) {
    mine.first = {*fault.what() == '\0' ? "unknown fault" : fault.what(), dynamic_cast<const EnvironmentError*>(&fault) != nullptr};
  }
  std::vector<std::string> results;
  Fault first;
  for (const std::string& bytes : ranks.gather_all(to_bytes(std::as_const(mine)))) {
    auto [fault, result] = from_bytes<std::pair<Fault, std::string>>(bytes);
    if (first.first.empty()) first = std::move(fault);
    results.push_back(std::move(result));
  }
  if (first.second) throw EnvironmentError(first.first);
  if (!first.first.empty()) throw StorageError(first.first);
  return results;
}

}  // namespace rollcall::io
