// A rule that decides where rollouts of a group fork from others. It sees one rollout at a time.
#pragma once

#include "model/engine/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::run {

/// It is asked about each turn of a rollout that was sampled from its beginning, once the turn has
/// ended. Any thread may call it.
class ForkRule {
 public:
  virtual ~ForkRule() = default;
  /// The places in the turn [begin, end) of `so_far` at which further rollouts begin, ascending, at
  /// most `left` of them; a place may be there several times. A rollout that begins at a place
  /// shares the sampled tokens before it. At `begin` of a later turn it has heard what was said
  /// before that turn. Depends only on its arguments, of which `address` is a random number of the
  /// turn.
  virtual std::vector<std::size_t> places(const model::DecodedSequence& so_far, std::size_t begin,
                                          std::size_t end, std::uint32_t left,
                                          std::uint64_t address) const = 0;
};

}  // namespace rollcall::run
