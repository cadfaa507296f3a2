// Greedy draws, draws from all tokens, and the row of weights that TopTokens chooses from.
#include "model/decode/sampling.hpp"

#include "base/errors/error.hpp"
#include "model/decode/inverse_cdf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace rollcall::model {
namespace {

constexpr std::int64_t kBlock = kernels::kVocabularyBlock;

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
      all_blocks_(std::size_t(kernels::vocabulary_blocks(vocab_size))),
      drawn_(params.vocab_size > 0 ? std::min(params.vocab_size, vocab_size) : vocab_size),
      cut_(drawn_ < vocab_size && drawn_ % kBlock != 0),
      scale_(greedy_ ? 1.0F : float(1.0 / params.temperature)) {
  check_sampling(params);
  const auto blocks = std::size_t(kernels::vocabulary_blocks(drawn_));
  blocks_.resize(blocks);
  mass_.resize(blocks);
  e_.resize(std::size_t(std::min(drawn_, kBlock)));
  if (!greedy_ && TopTokens::needed(params, drawn_)) top_.emplace(params, drawn_, cut_, kernels);
}

void TokenSampler::read(const RowOfLogits& row) {
  row_ = row;
  std::copy_n(row.blocks, blocks_.size(), blocks_.begin());
  double cut_factor = 1.0;
  if (cut_) {  // the exponentials stay at the scale of the whole block
    kernels::BlockMass& last = blocks_.back();
    const std::int64_t begin = drawn_ / kBlock * kBlock, count = drawn_ - begin;
    const float whole = last.largest,
                top = *std::max_element(row.logits + begin, row.logits + drawn_) * scale_;
    kernels_->exponentials(context_, row.logits + begin, count, scale_, top, e_.data());
    last = {top, float(std::accumulate(e_.begin(), e_.begin() + count, 0.0))};
    cut_factor = std::exp(double(whole) - double(top));
  }
  if (top_) choose_top(cut_factor);
}

std::int32_t TokenSampler::draw(double u) {
  if (greedy_) return greedy();
  return top_ ? top_->draw(u) : from_all(u);
}

float TokenSampler::largest() const {
  float top = blocks_.front().largest;
  for (std::size_t b = 1; b < blocks_.size(); ++b) top = std::max(top, blocks_[b].largest);
  return top;
}

std::int32_t TokenSampler::greedy() const {
  const float top = largest();
  std::size_t block = 0;
  while (block + 1 < blocks_.size() && blocks_[block].largest < top) ++block;
  const float* begin = row_.logits + std::int64_t(block) * kBlock;
  return std::int32_t(std::max_element(begin, begin + tokens_of_block(block, drawn_)) -
                      row_.logits);
}

std::int32_t TokenSampler::from_all(double u) {
  const double top = double(largest());
  double total = 0.0;
  for (std::size_t b = 0; b < mass_.size(); ++b)
    total += mass_[b] = double(blocks_[b].sum) * std::exp(double(blocks_[b].largest) - top);
  const auto [block, rest] = find_block(std::span<const double>(mass_), u * total);
  const std::int64_t begin = std::int64_t(block) * kBlock, count = tokens_of_block(block, drawn_);
  kernels_->exponentials(context_, row_.logits + begin, count, scale_, blocks_[block].largest,
                         e_.data());
  return std::int32_t(begin + find_token(e_.data(), count,
                                         float(std::exp(double(blocks_[block].largest) - top)),
                                         0.0F, rest));
}

/// `cut_factor` rescales exponentials of the last block from its largest logit to the largest one
/// below drawn_.
void TokenSampler::choose_top(double cut_factor) {
  const double top = double(largest());
  const std::span<float> factors = top_->factors();
  double all = 0.0;
  for (std::size_t b = 0; b < factors.size(); ++b) {
    const double factor = std::exp(double(blocks_[b].largest) - top);
    all += double(blocks_[b].sum) * factor;
    factors[b] = float(b + 1 == factors.size() && cut_ ? factor * cut_factor : factor);
  }
  top_->read(row_.e, all);
}

double TokenSampler::kept_mass() const {
  const kernels::BlockMass& whole = row_.blocks[all_blocks_];
  return std::min(
      1.0, top_->mass() * std::exp(double(largest()) - double(whole.largest) - double(whole.sum)));
}

}  // namespace rollcall::model
