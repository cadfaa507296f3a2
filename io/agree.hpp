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
/// for: all ranks throw StorageError with the words of the lowest rank that failed. Returns the bytes of every rank.
template <class F>
std::vector<std::string> agreed(comm::Communicator& ranks, const F& phase) {
  std::pair<std::string, std::string> mine;  // fault, result
  try {
    mine.second = phase();
  } catch (const std::exception& fault) {
    mine.first = *fault.what() == '\0' ? "unknown fault" : fault.what();
  }
  std::vector<std::string> results;
  std::string first_fault;
  for (const std::string& bytes : ranks.gather_all(to_bytes(std::as_const(mine)))) {
    auto [fault, result] = from_bytes<std::pair<std::string, std::string>>(bytes);
    if (first_fault.empty()) first_fault = std::move(fault);
    results.push_back(std::move(result));
  }
  if (!first_fault.empty()) throw StorageError(first_fault);
  return results;
}

}  // namespace rollcall::io
