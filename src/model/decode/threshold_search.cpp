// Narrows the bracket around a threshold by passes over the weights.
#include "model/decode/threshold_search.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace rollcall::model {
namespace {

float value(std::uint32_t bits) { return std::bit_cast<float>(bits); }

}  // namespace

ThresholdSearch::ThresholdSearch(const kernels::KernelSet& kernels, std::int64_t tokens,
                                 bool largest_may_exceed_one)
    : kernels_(&kernels),
      largest_may_exceed_one_(largest_may_exceed_one),
      ones_(std::size_t(kernels::vocabulary_blocks(tokens)), 1.0F) {}

Bracket ThresholdSearch::among(const Weights& weights, const WantedAmount& amount, std::int64_t few,
                               float guess) {
  const bool number = amount.counts_tokens();
  const double wanted = amount.wanted;
  std::uint32_t low = 0;
  std::uint32_t high = std::bit_cast<std::uint32_t>(1.0F) + (largest_may_exceed_one_ ? 256 : 1);
  double at_low = amount.all, at_high = 0.0;
  // Tokens that each weigh less than 1/n of the mass to leave out weigh less than that mass
  // together, so the threshold lies above them. Half of it allows for rounding.
  const std::uint32_t surely =
      number ? 0
             : std::bit_cast<std::uint32_t>(
                   float(0.5 * std::max(amount.all - wanted, 0.0) / double(weights.tokens)));
  // An upper bound on the number of tokens between the two thresholds.
  const auto left = [&] {
    return number ? at_low - at_high : (at_low - at_high) / double(value(low));
  };
  while (high - low > 1 && !(left() <= double(few))) {
    const std::uint32_t width = high - low;
    std::array<std::uint32_t, kernels::kThresholds> bits{};
    if (guess > 0.0F) {
      bits = {
          std::bit_cast<std::uint32_t>(guess * 0.8F), std::bit_cast<std::uint32_t>(guess * 0.98F),
          std::bit_cast<std::uint32_t>(guess * 1.02F), std::bit_cast<std::uint32_t>(guess * 1.2F)};
      guess = 0.0F;
    } else if (at_high == 0.0 || width < 64) {
      // Nothing is known yet about the upper end, so the steps from the lowest possible one are
      // even.
      const std::uint32_t begin = std::max(surely, low), step = (high - begin) / 4;
      bits = {begin, begin + step, begin + 2 * step, begin + 3 * step};
    } else {
      const auto expected = std::int64_t(
          double(width) * std::clamp((at_low - wanted) / (at_low - at_high), 0.0, 1.0));
      const auto about = [&](std::int64_t offset) {
        return low + std::uint32_t(std::clamp<std::int64_t>(expected + offset, 0, width));
      };
      bits = {about(-std::int64_t(width / 8)), about(-std::int64_t(width / 64)), about(width / 64),
              about(width / 8)};
    }
    std::array<float, kernels::kThresholds> least{};
    std::array<double, kernels::kThresholds> found{};
    for (std::size_t t = 0; t < bits.size(); ++t) {
      bits[t] = std::clamp(bits[t], low + 1, high - 1);
      least[t] = value(bits[t]);
    }
    kernels_->sums_from(context_, weights.e, weights.factor, weights.tokens, least.data(), number,
                        found.data());
    for (std::size_t t = 0; t < bits.size(); ++t) {
      if (found[t] >= wanted && bits[t] >= low) low = bits[t], at_low = found[t];
      if (found[t] < wanted && bits[t] <= high) high = bits[t], at_high = found[t];
    }
  }
  return {low, high, at_high};
}

}  // namespace rollcall::model
