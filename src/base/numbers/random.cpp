// Computes keys and counters of Philox from addresses.
#include "base/numbers/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace rollcall {
namespace {

std::array<std::uint64_t, 2> philox(std::array<std::uint32_t, 2> key, std::uint64_t hi,
                                    std::uint64_t lo) {
  const r123::Philox4x32::ctr_type ctr = {
      {std::uint32_t(lo), std::uint32_t(lo >> 32), std::uint32_t(hi), std::uint32_t(hi >> 32)}};
  const r123::Philox4x32::key_type k = {{key[0], key[1]}};
  const auto out = r123::Philox4x32{}(ctr, k);
  return {std::uint64_t(out[0]) | std::uint64_t(out[1]) << 32,
          std::uint64_t(out[2]) | std::uint64_t(out[3]) << 32};
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, RandomPurpose purpose, std::uint64_t step,
                           std::uint64_t prompt, std::uint64_t sample) {
  // The five numbers of an address do not fit into 192 bits, so the generator itself mixes them,
  // one at a time.
  std::array<std::uint32_t, 2> key = {std::uint32_t(seed), std::uint32_t(seed >> 32)};
  auto mixed = philox(key, std::uint64_t(purpose), step);
  mixed =
      philox({std::uint32_t(mixed[0]), std::uint32_t(mixed[0] >> 32)}, mixed[1] ^ prompt, sample);
  key_ = {std::uint32_t(mixed[0]), std::uint32_t(mixed[0] >> 32)};
  address_ = mixed[1];
}

std::array<std::uint64_t, 2> RandomStream::draw(std::uint64_t index) const {
  return philox(key_, address_, index);
}
std::uint64_t RandomStream::bits(std::uint64_t index) const { return draw(index)[0]; }
double RandomStream::uniform(std::uint64_t index) const {
  return double(bits(index) >> 11) * 0x1.0p-53;
}

double RandomStream::normal(std::uint64_t index) const {
  const auto [a, b] = draw(index);
  const double u = double((a >> 11) + 1) * 0x1.0p-53;  // in (0, 1], so that the logarithm is finite
  return std::sqrt(-2.0 * std::log(u)) *
         std::cos(2.0 * std::numbers::pi * double(b >> 11) * 0x1.0p-53);
}

std::uint64_t RandomStream::below(std::uint64_t index, std::uint64_t n) const {
  // Lemire's multiply-shift
  return std::uint64_t((static_cast<unsigned __int128>(bits(index)) * n) >> 64);
}

}  // namespace rollcall
