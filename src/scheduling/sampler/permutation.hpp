// A random order of 0 .. size-1 in which each position can be computed without the others: a keyed
// Feistel network with cycle walking.
#pragma once

#include "base/numbers/random.hpp"

#include <cstdint>

namespace rollcall::scheduling {

/// Luby and Rackoff 1988, "How to construct pseudorandom permutations"; cycle walking: Black and
/// Rogaway 2002, "Ciphers with arbitrary finite domains". An element costs kRounds random numbers,
/// on average at most four times that number, and no memory.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch);
  std::uint64_t operator()(std::uint64_t position) const;

 private:
  static constexpr int kRounds = 8;  // 4 suffice against an adversary on large domains; small
                                     // populations mix better with more
  std::uint64_t feistel(std::uint64_t x) const;
  std::uint64_t size_;
  int half_bits_ = 1;
  RandomStream stream_;
};

}  // namespace rollcall::scheduling
