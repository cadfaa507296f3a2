// A phase of a collective operation. Every rank runs its part, and then all ranks learn whether
// every part succeeded. Private to io.
#pragma once

#include "base/files/file.hpp"
#include "comm/communicator.hpp"
#include "core/serialize.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rollcall::io {

/// Runs `phase`, which returns bytes for the other ranks, and exchanges results and faults in one
/// collective, so that no rank waits for one that failed. If any rank failed, all ranks throw with
/// the message of the lowest failed rank: UnreadableError or EnvironmentError if its error was one
/// of these, else StorageError. Returns the bytes from every rank, [ranks].
template <class F>
std::vector<std::string> agreed(comm::Communicator& ranks, const F& phase) {
  enum : int { storage, environment, unreadable };
  using Fault = std::pair<std::string, int>;  // message, and one of the kinds above
  std::pair<Fault, std::string> mine;         // fault, result
  try {
    mine.second = phase();
  } catch (const std::exception& fault) {
    const std::string words = message_of(fault);
    mine.first = {words.empty() ? "unknown fault" : words,
                  dynamic_cast<const UnreadableError*>(&fault)    ? unreadable
                  : dynamic_cast<const EnvironmentError*>(&fault) ? environment
                                                                  : storage};
  }
  std::vector<std::string> results;
  Fault first;
  for (const std::string& bytes : ranks.gather_all(to_bytes(std::as_const(mine)))) {
    auto [fault, result] = from_bytes<std::pair<Fault, std::string>>(bytes);
    if (first.first.empty()) first = std::move(fault);
    results.push_back(std::move(result));
  }
  if (first.second == unreadable) throw UnreadableError(first.first);
  if (first.second == environment) throw EnvironmentError(first.first);
  if (!first.first.empty()) throw StorageError(first.first);
  return results;
}

}  // namespace rollcall::io
