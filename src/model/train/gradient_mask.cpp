// Computes the mask of a gradient from two checkpoints, one piece at a time.
#include "model/train/gradient_mask.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "kernels/parameter_kernels.hpp"
#include "model/tensors/weight_changes.hpp"

#include <algorithm>
#include <bit>

namespace rollcall::model {
namespace {

constexpr auto kBlock = std::int64_t(kernels::kNormBlock);
constexpr std::int64_t kPiece = std::int64_t(1) << 16;  // weights that are read at a time
static_assert(kBlock % 64 == 0, "a block is whole words");

}  // namespace

GradientMask::GradientMask(std::int64_t begin, std::int64_t end)
    : begin_(begin), end_(end), words_(std::size_t((end - begin + 63) / 64), 0) {
  expect(begin <= end && (begin % kBlock == 0 || begin == end),
         "a mask begins with a block of the norm");
}

void GradientMask::let_train(std::int64_t at) {
  expect(at >= begin_ && at < end_, "the weight lies in the mask");
  const auto i = std::size_t(at - begin_);
  words_[i / 64] |= std::uint64_t(1) << (i % 64);
}

std::int64_t GradientMask::trained() const {
  std::int64_t count = 0;
  for (const std::uint64_t word : words_) count += std::popcount(word);
  return count;
}

void GradientMask::apply(std::int64_t at, std::span<float> gradient) const {
  expect(at >= begin_ && at + std::int64_t(gradient.size()) <= end_,
         "the gradient lies in the mask");
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (!trains(at + std::int64_t(i))) gradient[i] = 0.0F;
}

void GradientMask::keep_frozen(std::int64_t at, std::span<const float> before,
                               std::span<float> weights) const {
  expect(
      at >= begin_ && at + std::int64_t(weights.size()) <= end_ && before.size() == weights.size(),
      "the weights lie in the mask");
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!trains(at + std::int64_t(i))) weights[i] = before[i];
}

std::vector<std::int64_t> GradientMask::block_hashes() const {
  constexpr auto kWords = std::size_t(kBlock / 64);
  std::vector<std::int64_t> hashes;
  for (std::size_t first = 0; first < words_.size(); first += kWords) {
    const auto words = std::span(words_).subspan(first, std::min(kWords, words_.size() - first));
    hashes.push_back(std::bit_cast<std::int64_t>(checksum64(std::as_bytes(words))));
  }
  return hashes;
}

GradientMask changed_weights(const WeightLayout& layout, const WeightFiles& before,
                             const WeightFiles& after, double tolerance, std::int64_t begin,
                             std::int64_t end) {
  GradientMask mask(begin, end);
  std::vector<float> first(static_cast<std::size_t>(kPiece)), last(first.size());
  for (const Slice& slice : layout.slices) {
    const std::int64_t from = std::max(slice.offset, begin),
                       to = std::min(slice.offset + slice.count, end);
    for (std::int64_t at = from; at < to; at += kPiece) {
      const auto count = std::size_t(std::min(kPiece, to - at)),
                 inside = std::size_t(at - slice.offset);
      before.tensors().at(slice.name)->widen(slice.name, inside, std::span(first).first(count));
      after.tensors().at(slice.name)->widen(slice.name, inside, std::span(last).first(count));
      for (std::size_t i = 0; i < count; ++i)
        if (moved(first[i], last[i], tolerance)) mask.let_train(at + std::int64_t(i));
    }
  }
  return mask;
}

std::string mask_digest(std::span<const std::int64_t> block_hashes) {
  return Sha256().add(std::as_bytes(block_hashes)).hex();
}

}  // namespace rollcall::model
