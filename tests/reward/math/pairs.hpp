// Pairs of answers whose equality is known by how they were made: equal ones are spelt anew or
// rewritten, different ones differ in value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::reward::math::testing {

struct Pair {
  std::string category, reference, answer;
  bool equal = false;
};

/// Pair `number` of a seed; categories take turns, and half of the pairs are equal.
Pair make_pair(std::uint64_t seed, std::uint64_t number);
std::vector<std::string> categories();

}  // namespace rollcall::reward::math::testing
