// Greedy, full and truncated (top-k, top-p) draws.
#include "model/decode/sampling.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace rollcall::model {
namespace {

constexpr std::int64_t kBlock = kernels::kVocabularyBlock;
constexpr std::int64_t kCollected = 2048;  ///< so few tokens between two thresholds are looked at
                                           ///< by themselves: a pass over them is nothing
constexpr std::int64_t kSortable = 32;     ///< so few are put in order
constexpr std::int64_t kRun = 16, kEvery = 16;  ///< the first guess looks at a run of neighbours
                                                ///< out of so many runs

/// The block in which the running sum passes `target`, and what is left of the target there.
/// Rounding may leave the sum short: the last block with any mass.
std::pair<std::size_t, double> find_block(std::span<const double> mass, double target) {
  std::size_t last = 0;
  double below = 0.0, rest = target;
  for (std::size_t b = 0; b < mass.size(); ++b) {
    if (!(mass[b] > 0.0)) continue;
    last = b, rest = target - below;
    below += mass[b];
    if (target < below) break;
  }
  return {last, rest};
}

/// The same inside a block, among the weights e * factor that are `least` or more.
std::int64_t find_token(const float* e, std::int64_t count, float factor, float least,
                        double rest) {
  std::int64_t last = 0;
  double below = 0.0;
  for (std::int64_t j = 0; j < count; ++j) {
    const float weight = e[j] * factor;
    if (!(weight > 0.0F) || weight < least) continue;
    last = j;
    below += double(weight);
    if (rest < below) break;
  }
  return last;
}

}  // namespace

void check_sampling(const SamplingParams& params) {
  require<ConfigError>(std::isfinite(params.temperature) && params.temperature >= 0.0,
                       fmt::format("sampling.temperature is {}", params.temperature),
                       "it divides the logits", "choose 0 (greedy) or a positive number");
  require<ConfigError>(params.top_k >= 0, fmt::format("sampling.top_k is {}", params.top_k),
                       "it counts tokens", "choose 0 (off) or more");
  require<ConfigError>(params.top_p > 0.0 && params.top_p <= 1.0,
                       fmt::format("sampling.top_p is {}", params.top_p),
                       "it is a share of the probability",
                       "choose a number above 0 and up to 1, which turns it off");
}

TokenSampler::TokenSampler(const SamplingParams& params, std::int64_t vocab_size,
                           const kernels::KernelSet& kernels)
    : kernels_(&kernels),
      greedy_(params.temperature == 0.0),
      whole_(std::size_t(kernels::vocabulary_blocks(vocab_size))),
      drawn_(params.vocab_size > 0 ? std::min(params.vocab_size, vocab_size) : vocab_size),
      cut_(drawn_ < vocab_size && drawn_ % kBlock != 0),
      top_k_(params.top_k > 0 ? std::min(params.top_k, drawn_) : drawn_),
      top_p_(params.top_p),
      scale_(greedy_ ? 1.0F : float(1.0 / params.temperature)) {
  check_sampling(params);
  const auto blocks = std::size_t(kernels::vocabulary_blocks(drawn_));
  blocks_.resize(blocks + 1);
  block_sum_.resize(blocks);
  mass_.resize(blocks);
  factor_.resize(blocks);
  ones_.assign(blocks, 1.0F);
  places_.resize(std::size_t(needs_exponentials() ? drawn_ : 0));
  e_.resize(std::size_t(std::min(drawn_, kBlock)));
}

void TokenSampler::read(const RowOfLogits& row) {
  row_ = row;
  std::copy_n(row.blocks, mass_.size(), blocks_.begin());
  if (cut_) {  // the exponentials stay in the scale of the whole block
    kernels::BlockMass& last = blocks_[mass_.size() - 1];
    const std::int64_t begin = drawn_ / kBlock * kBlock, count = drawn_ - begin;
    const float whole = last.largest,
                top = *std::max_element(row.logits + begin, row.logits + drawn_) * scale_;
    kernels_->exponentials(context_, row.logits + begin, count, scale_, top, e_.data());
    last = {top, float(std::accumulate(e_.begin(), e_.begin() + count, 0.0))};
    cut_factor_ = std::exp(double(whole) - double(top));
  }
  if (needs_exponentials()) truncate();
}

std::int32_t TokenSampler::draw(double u) {
  if (greedy_) return greedy();
  return needs_exponentials() ? truncated(u) : full(u);
}

float TokenSampler::largest() const {
  float top = blocks_.front().largest;
  for (std::size_t b = 1; b < mass_.size(); ++b) top = std::max(top, blocks_[b].largest);
  return top;
}

std::int64_t TokenSampler::tokens_of(std::size_t block) const {
  return std::min(kBlock, drawn_ - std::int64_t(block) * kBlock);
}

std::int32_t TokenSampler::greedy() const {
  const float top = largest();
  std::size_t block = 0;
  while (block + 1 < mass_.size() && blocks_[block].largest < top) ++block;
  const float* begin = row_.logits + std::int64_t(block) * kBlock;
  return std::int32_t(std::max_element(begin, begin + tokens_of(block)) - row_.logits);
}

std::int32_t TokenSampler::full(double u) {
  const double top = double(largest());
  double total = 0.0;
  for (std::size_t b = 0; b < mass_.size(); ++b)
    total += mass_[b] = double(blocks_[b].sum) * std::exp(double(blocks_[b].largest) - top);
  const auto [block, rest] = find_block(mass_, u * total);
  const std::int64_t begin = std::int64_t(block) * kBlock, count = tokens_of(block);
  kernels_->exponentials(context_, row_.logits + begin, count, scale_, blocks_[block].largest,
                         e_.data());
  return std::int32_t(begin + find_token(e_.data(), count,
                                         float(std::exp(double(blocks_[block].largest) - top)),
                                         0.0F, rest));
}

/// Where the fewest tokens, most probable first, whose number or mass is `wanted` or more, end;
/// `all` is that of all. Several thresholds at a time close in on it, about `guess` (0: none) and
/// then where a straight line between two others expects it, until at most `few` tokens are left
/// between the two.
TokenSampler::Bracket TokenSampler::close_in(const Weights& weights, Measure measure, double wanted,
                                             double all, std::int64_t few, float guess) {
  const bool number = measure == Measure::count;
  const auto value = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  // The largest weight is 1, or where blocks are cut 1 but for the rounding of two exponentials.
  std::uint32_t low = 0, high = std::bit_cast<std::uint32_t>(1.0F) + (cut_ ? 256 : 1);
  double at_low = all, at_high = 0.0;
  // All tokens of less than an n-th of the mass that is left out have together less than that, so
  // none of them is kept; half of it for rounding.
  const std::uint32_t surely =
      number ? 0
             : std::bit_cast<std::uint32_t>(
                   float(0.5 * std::max(all - wanted, 0.0) / double(weights.tokens)));
  // No more than so many are left.
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
    } else if (at_high == 0.0 || width < 64) {  // nothing is known yet of the upper end: even steps
                                                // from where the threshold may lie
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
    for (std::size_t t = 0; t < bits.size(); ++t)
      bits[t] = std::clamp(bits[t], low + 1, high - 1), least[t] = value(bits[t]);
    kernels_->sums_from(context_, weights.e, weights.factor, weights.tokens, least.data(), number,
                        found.data());
    for (std::size_t t = 0; t < bits.size(); ++t) {
      if (found[t] >= wanted && bits[t] >= low) low = bits[t], at_low = found[t];
      if (found[t] < wanted && bits[t] <= high) high = bits[t], at_high = found[t];
    }
  }
  return {low, high, at_high};
}

/// The threshold expected by a fixed part of the row, or 0. Only what is left out is taken from
/// that part: many small weights say it better than few large ones.
float TokenSampler::guess(const float* e, Measure measure, double wanted, double all) {
  constexpr std::int64_t kStride = kRun * kEvery;
  static_assert(kBlock % kStride == 0);
  if (drawn_ < 8 * kBlock) return 0.0F;
  some_.clear();
  double mass = 0.0;
  for (std::int64_t first = 0; first + kRun <= drawn_; first += kStride)
    for (std::int64_t j = first; j < first + kRun; ++j)
      some_.push_back(e[j] * factor_[std::size_t(j / kBlock)]), mass += double(some_.back());
  const double all_of_some = measure == Measure::count ? double(some_.size()) : mass;
  const double out = (all - wanted) * double(some_.size()) / double(drawn_);
  if (!(out < all_of_some)) return 0.0F;
  const Bracket found = close_in({some_.data(), ones_.data(), std::int64_t(some_.size())}, measure,
                                 all_of_some - out, all_of_some, 4, 0.0F);
  return std::bit_cast<float>(found.high);
}

/// The fewest tokens, most probable first, whose number or mass is `wanted` or more; `all` is that
/// of all.
TokenSampler::Kept TokenSampler::keep(const float* e, Measure measure, double wanted, double all) {
  const bool number = measure == Measure::count;
  const Bracket outer = close_in({e, factor_.data(), drawn_}, measure, wanted, all, kCollected,
                                 guess(e, measure, wanted, all));
  const auto from = std::bit_cast<float>(outer.high);
  const auto count =
      kernels_->places_between(context_, e, factor_.data(), drawn_, std::bit_cast<float>(outer.low),
                               from, block_sum_.data(), places_.data());
  double mass = 0.0, between = 0.0;
  for (const float block : block_sum_) mass += double(block);
  some_.clear();
  for (const std::int32_t place : std::span(places_).first(std::size_t(count)))
    some_.push_back(e[place] * factor_[std::size_t(place / kBlock)]),
        between += double(some_.back());
  const double reached_before = number ? outer.at_high : mass;
  const Bracket inner =
      close_in({some_.data(), ones_.data(), count}, measure, wanted - reached_before,
               number ? double(count) : between, kSortable, 0.0F);
  const auto surely = std::bit_cast<float>(inner.high), perhaps = std::bit_cast<float>(inner.low);
  ranked_.clear();
  for (std::size_t i = 0; i < some_.size(); ++i)
    if (some_[i] >= surely) ranked_.emplace_back(some_[i], places_[i]), mass += double(some_[i]);
  const std::size_t sure = ranked_.size();
  for (std::size_t i = 0; i < some_.size(); ++i)
    if (some_[i] < surely && some_[i] >= perhaps) ranked_.emplace_back(some_[i], places_[i]);
  std::stable_sort(ranked_.begin() + std::ptrdiff_t(sure), ranked_.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::size_t last = sure;
  double reached = number ? reached_before + double(sure) : mass;
  for (; last < ranked_.size() && reached < wanted; ++last)
    mass += double(ranked_[last].first), reached += number ? 1.0 : double(ranked_[last].first);
  return {from, last, mass};
}

void TokenSampler::truncate() {
  const double top = double(largest());
  double all = 0.0;
  for (std::size_t b = 0; b < mass_.size(); ++b) {
    const double factor = std::exp(double(blocks_[b].largest) - top);
    all += double(blocks_[b].sum) * factor;
    factor_[b] = float(b + 1 == mass_.size() && cut_ ? factor * cut_factor_ : factor);
  }
  kept_ = {0.0F, 0, all};
  if (!(all > 0.0)) return;  // a logit is not a number, which the log-prob will say
  if (top_k_ < drawn_) kept_ = keep(row_.e, Measure::count, double(top_k_), double(drawn_));
  // of what top-k kept (the nucleus: Holtzman et al. 2020)
  if (top_p_ < 1.0) kept_ = keep(row_.e, Measure::mass, top_p_ * kept_.mass, all);
  // of the tokens from kept_.from on
  std::copy(block_sum_.begin(), block_sum_.end(), mass_.begin());
}

std::int32_t TokenSampler::truncated(double u) const {
  if (!(kept_.mass > 0.0)) return 0;
  double below = 0.0;
  for (const double mass : mass_) below += mass;
  const double target = u * kept_.mass;
  if (target < below || kept_.last == 0) {
    const auto [block, rest] = find_block(mass_, target);
    const std::int64_t begin = std::int64_t(block) * kBlock;
    return std::int32_t(
        begin + find_token(row_.e + begin, tokens_of(block), factor_[block], kept_.from, rest));
  }
  for (std::size_t rank = 0; rank + 1 < kept_.last; ++rank) {
    below += double(ranked_[rank].first);
    if (target < below) return ranked_[rank].second;
  }
  return ranked_[kept_.last - 1].second;
}

double TokenSampler::kept_mass() const {
  const kernels::BlockMass& whole = row_.blocks[whole_];
  return std::min(
      1.0, kept_.mass * std::exp(double(largest()) - double(whole.largest) - double(whole.sum)));
}

std::vector<std::int32_t> TokenSampler::kept_ids() {
  constexpr float kNoLimit = std::numeric_limits<float>::infinity();
  if (!(kept_.mass > 0.0)) return {};
  const auto count = kernels_->places_between(context_, row_.e, factor_.data(), drawn_, kept_.from,
                                              kNoLimit, block_sum_.data(), places_.data());
  std::vector<std::int32_t> ids(places_.begin(), places_.begin() + count);
  for (std::size_t rank = 0; rank < kept_.last; ++rank) ids.push_back(ranked_[rank].second);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace rollcall::model
