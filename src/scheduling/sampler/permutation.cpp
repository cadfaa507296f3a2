// The Feistel rounds of the addressed permutation.
#include "scheduling/sampler/permutation.hpp"

namespace rollcall::scheduling {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch)
    : size_(size), stream_(seed, RandomPurpose::schedule, epoch) {
  // The network permutes 2 * half_bits_ bits: the smallest such square that holds `size`, so less
  // than four times it.
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::feistel(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_, right = x & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t next = left ^ (stream_.bits(round << 32 | right) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  std::uint64_t x = position;
  do x = feistel(x);
  while (x >= size_);  // this ends, because the walk follows a cycle of the larger domain, which
                       // returns to `position`
  return x;
}

}  // namespace rollcall::scheduling
