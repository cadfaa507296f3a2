// Two searches find the last token that is kept: one over the whole row until few tokens are
// undecided, and one among those.
#include "model/decode/top_tokens.hpp"

#include "model/decode/inverse_cdf.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace rollcall::model {
namespace {

constexpr std::int64_t kBlock = kernels::kVocabularyBlock;
constexpr std::int64_t kCollected = 2048;  ///< at most this many undecided tokens are collected; a
                                           ///< pass over them costs next to nothing
constexpr std::int64_t kSortable = 32;     ///< at most this many undecided tokens are sorted
/// The first guess reads runs of kRun neighbours, one run out of kEvery.
constexpr std::int64_t kRun = 16, kEvery = 16;

}  // namespace

bool TopTokens::needed(const SamplingParams& params, std::int64_t tokens) {
  return (params.top_k > 0 && params.top_k < tokens) || params.top_p < 1.0;
}

TopTokens::TopTokens(const SamplingParams& params, std::int64_t tokens, bool cut,
                     const kernels::KernelSet& kernels)
    : kernels_(&kernels),
      search_(kernels, tokens, cut),
      top_k_(params.top_k > 0 ? std::min(params.top_k, tokens) : tokens),
      top_p_(params.top_p),
      factor_(std::size_t(kernels::vocabulary_blocks(tokens))),
      weights_{nullptr, nullptr, tokens},
      block_sum_(factor_.size()),
      places_(std::size_t(tokens)) {}

/// An estimate of the threshold from a sample of the row, or 0. The estimate counts the amount left
/// out in the sample, because many small weights vary less than a few large ones.
float TopTokens::guess(const WantedAmount& amount) {
  constexpr std::int64_t kStride = kRun * kEvery;
  static_assert(kBlock % kStride == 0);
  const std::int64_t tokens = weights_.tokens;
  if (tokens < 8 * kBlock) return 0.0F;
  some_.clear();
  double mass = 0.0;
  for (std::int64_t first = 0; first + kRun <= tokens; first += kStride)
    for (std::int64_t j = first; j < first + kRun; ++j) {
      some_.push_back(weights_.e[j] * factor_[std::size_t(j / kBlock)]);
      mass += double(some_.back());
    }
  const double all = amount.counts_tokens() ? double(some_.size()) : mass;
  const double out = (amount.all - amount.wanted) * double(some_.size()) / double(tokens);
  if (!(out < all)) return 0.0F;
  return std::bit_cast<float>(search_.among(some_, {amount.unit, all - out, all}, 4).high);
}

/// The fewest tokens, most probable first, that reach the wanted amount.
TopTokens::Kept TopTokens::keep(const WantedAmount& amount) {
  const bool number = amount.counts_tokens();
  const Bracket outer = search_.among(weights_, amount, kCollected, guess(amount));
  const auto from = std::bit_cast<float>(outer.high);
  const auto count = kernels_->places_between(context_, weights_.e, factor_.data(), weights_.tokens,
                                              std::bit_cast<float>(outer.low), from,
                                              block_sum_.data(), places_.data());
  double mass = 0.0, between = 0.0;
  for (const float block : block_sum_) mass += double(block);
  some_.clear();
  for (const std::int32_t place : std::span(places_).first(std::size_t(count))) {
    some_.push_back(weights_.e[place] * factor_[std::size_t(place / kBlock)]);
    between += double(some_.back());
  }
  const double reached_before = number ? outer.at_high : mass;
  const Bracket inner = search_.among(
      some_, {amount.unit, amount.wanted - reached_before, number ? double(count) : between},
      kSortable);
  const auto surely = std::bit_cast<float>(inner.high), perhaps = std::bit_cast<float>(inner.low);
  ranked_.clear();
  for (std::size_t i = 0; i < some_.size(); ++i)
    if (some_[i] >= surely) {
      ranked_.emplace_back(some_[i], places_[i]);
      mass += double(some_[i]);
    }
  const std::size_t sure = ranked_.size();
  for (std::size_t i = 0; i < some_.size(); ++i)
    if (some_[i] < surely && some_[i] >= perhaps) ranked_.emplace_back(some_[i], places_[i]);
  std::stable_sort(ranked_.begin() + std::ptrdiff_t(sure), ranked_.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::size_t last = sure;
  double reached = number ? reached_before + double(sure) : mass;
  for (; last < ranked_.size() && reached < amount.wanted; ++last) {
    mass += double(ranked_[last].first);
    reached += number ? 1.0 : double(ranked_[last].first);
  }
  return {from, last, mass};
}

void TopTokens::read(const float* e, double all) {
  weights_.e = e;
  weights_.factor = factor_.data();
  kept_ = {0.0F, 0, all};
  if (!(all > 0.0)) return;  // a logit is NaN, which the log-prob will show
  using Unit = WantedAmount::Unit;
  if (top_k_ < weights_.tokens)
    kept_ = keep({Unit::tokens, double(top_k_), double(weights_.tokens)});
  // The nucleus is chosen among the tokens that top-k kept.
  if (top_p_ < 1.0) kept_ = keep({Unit::mass, top_p_ * kept_.mass, all});
}

std::int32_t TopTokens::draw(double u) const {
  if (!(kept_.mass > 0.0)) return 0;
  double below = 0.0;
  for (const float mass : block_sum_) below += double(mass);
  const double target = u * kept_.mass;
  if (target < below || kept_.last == 0) {
    const auto [block, rest] = find_block(std::span<const float>(block_sum_), target);
    const std::int64_t begin = std::int64_t(block) * kBlock;
    return std::int32_t(begin + find_token(weights_.e + begin,
                                           tokens_of_block(block, weights_.tokens), factor_[block],
                                           kept_.from, rest));
  }
  for (std::size_t rank = 0; rank + 1 < kept_.last; ++rank) {
    below += double(ranked_[rank].first);
    if (target < below) return ranked_[rank].second;
  }
  return ranked_[kept_.last - 1].second;
}

std::vector<std::int32_t> TopTokens::ids() {
  constexpr float kNoLimit = std::numeric_limits<float>::infinity();
  if (!(kept_.mass > 0.0)) return {};
  std::vector<float> above(block_sum_.size());  // not used, because no weight is above kNoLimit
  const auto count = kernels_->places_between(context_, weights_.e, factor_.data(), weights_.tokens,
                                              kept_.from, kNoLimit, above.data(), places_.data());
  std::vector<std::int32_t> ids(places_.begin(), places_.begin() + count);
  for (std::size_t rank = 0; rank < kept_.last; ++rank) ids.push_back(ranked_[rank].second);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace rollcall::model
