// The learning-rate schedule, the shares, the gradient sum in any order, and the AdamW step.
#include "model/train/optimizer.hpp"

#include "base/errors/error.hpp"
#include "kernels/parameter_kernels.hpp"
#include "model/engine/policy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numbers>
#include <numeric>
#include <utility>

namespace rollcall::model {
namespace {

// The window for the largest element of a micro-batch, in units of 2^-exponent. Above 2^52
// kernels::accumulate_fixed_point is undefined. Below 2^36 an element that is 2^12 times smaller
// than the largest would keep fewer bits than fp32 has.
constexpr std::int64_t kLowBits = 36, kHighBits = 52, kSumBits = 62;
/// The distance that is kept to either end of the window for the next step, because a repeat
/// computes the whole step again.
constexpr std::int64_t kHeadroomBits = 8;
/// The window then admits largest elements from 6e-5 to 4, so most first steps need no repeat.
constexpr std::int64_t kInitialExponent = 50;

/// The smallest b with value < 2^b.
std::int64_t bits_of(double value) { return std::ilogb(value) + 1; }

constexpr std::int64_t kStripe = std::int64_t(1) << 15;  ///< elements under one lock
constexpr std::size_t kLocks = 64;

/// Elements, and blocks, that a thread takes at a time.
constexpr std::int64_t kPart = std::int64_t(1) << 20, kBlocksAtOnce = 64;
/// Elements of a block, and bytes of moments that a share has at least.
constexpr std::int64_t kBlock = std::int64_t(kernels::kNormBlock),
                       kLeastShare = std::int64_t{1} << 20;

/// The part of a slice that lies in [begin, end), as its offset in the whole buffer and its count.
std::pair<std::size_t, std::size_t> part_of(const Slice& slice, std::int64_t begin,
                                            std::int64_t end) {
  const std::int64_t first = std::max(slice.offset, begin),
                     last = std::min(slice.offset + slice.count, end);
  return {std::size_t(first), std::size_t(std::max<std::int64_t>(last - first, 0))};
}

/// Calls update(from, n) for weights that begin at index `at` of the layout, one block at a time.
/// After each block its frozen weights get their bits back.
template <class Update>
void update_masked(const GradientMask& mask, std::span<float> weights, std::int64_t at,
                   const Update& update) {
  std::array<float, std::size_t(kBlock)> before;
  for (std::size_t from = 0; from < weights.size(); from += before.size()) {
    const auto block = weights.subspan(from, std::min(before.size(), weights.size() - from));
    std::copy(block.begin(), block.end(), before.begin());
    update(from, block.size());
    mask.keep_frozen(at + std::int64_t(from), std::span<const float>(before).first(block.size()),
                     block);
  }
}

}  // namespace

std::vector<std::int64_t> optimizer_shares(std::int64_t size, int ranks) {
  const std::int64_t blocks = (size + kBlock - 1) / kBlock;
  const std::int64_t shares =
      std::clamp<std::int64_t>(2 * size * std::int64_t(sizeof(float)) / kLeastShare, 1, ranks);
  std::vector<std::int64_t> share_offsets;
  for (std::int64_t r = 0; r <= ranks; ++r)
    share_offsets.push_back(std::min(size, blocks * std::min(r, shares) / shares * kBlock));
  return share_offsets;
}

std::int64_t ranks_with_share(std::span<const std::int64_t> share_offsets) {
  return std::lower_bound(share_offsets.begin(), share_offsets.end(), share_offsets.back()) -
         share_offsets.begin();
}

double learning_rate(const OptimizerSection& settings, std::int64_t step, double steps) {
  if (step <= settings.warmup_steps)
    return settings.lr * double(step) / double(settings.warmup_steps);
  if (settings.lr_schedule == "constant") return settings.lr;
  const double decay_steps = std::max(1.0, steps - double(settings.warmup_steps));
  const double progress = std::min(1.0, double(step - settings.warmup_steps) / decay_steps);
  const double above_end = settings.lr_schedule == "linear"
                               ? 1.0 - progress
                               : 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return settings.lr * (settings.min_lr_ratio + (1.0 - settings.min_lr_ratio) * above_end);
}

SumExponents::SumExponents(std::size_t tensors)
    : exponent_(tensors, kInitialExponent), largest_(tensors, 0.0) {}

void SumExponents::start() {
  std::fill(largest_.begin(), largest_.end(), 0.0);
  micro_batches_ = 0;
}

void SumExponents::note(std::size_t t, double largest) {
  largest_[t] = std::max(largest_[t], largest);
}

SumOutcome SumExponents::decide(Collectives& ranks) {
  // One exchange carries the largest elements and the numbers of micro-batches. Each rank writes
  // its number to its own place, which the other ranks leave at 0.
  std::vector<double> shared = largest_;
  shared.resize(largest_.size() + std::size_t(ranks.size()), 0.0);
  shared[largest_.size() + std::size_t(ranks.rank())] = double(micro_batches_);
  ranks.maximum(shared);
  const auto counts = shared.begin() + std::ptrdiff_t(largest_.size());
  std::copy(shared.begin(), counts, largest_.begin());
  micro_batches_ = std::int64_t(std::accumulate(counts, shared.end(), 0.0));
  if (!std::all_of(largest_.begin(), largest_.end(),
                   [](double value) { return std::isfinite(value); }))
    return SumOutcome::nonfinite;
  // kGradientParts * micro_batches_ numbers below 2^high must add up to less than 2^62.
  const std::int64_t micro_batch_bits =
      std::bit_width(std::uint64_t(std::max<std::int64_t>(kGradientParts * micro_batches_, 1)));
  const std::int64_t high = std::min(kHighBits, kSumBits - micro_batch_bits);
  centre_ = high - kHeadroomBits;
  return fit(std::min(kLowBits, centre_ - kHeadroomBits), high, centre_) ? SumOutcome::repeat
                                                                         : SumOutcome::ready;
}

void SumExponents::centre() { fit(centre_ - 1, centre_, centre_); }

/// Moves the exponent of each tensor whose largest element has at most `low` or more than `high`
/// bits in the sum. The element then has `centre` bits. Returns true when an exponent moved.
/// Tensors whose elements are all zero keep theirs.
bool SumExponents::fit(std::int64_t low, std::int64_t high, std::int64_t centre) {
  bool moved = false;
  for (std::size_t t = 0; t < exponent_.size(); ++t) {
    if (largest_[t] == 0.0) continue;
    const std::int64_t bits = bits_of(largest_[t]) + exponent_[t];
    if (bits > low && bits <= high) continue;
    exponent_[t] += centre - bits;
    moved = true;
  }
  return moved;
}

void SumExponents::set(std::span<const std::int64_t> exponents) {
  require<StorageError>(exponents.size() == exponent_.size(),
                        "a checkpoint's gradient exponents do not fit the model",
                        "there is one for each weight tensor",
                        "resume with the run file the checkpoint was written with");
  exponent_.assign(exponents.begin(), exponents.end());
}

double norm_of_shares(Collectives& ranks, std::int64_t size, std::int64_t begin,
                      std::span<const double> squares) {
  std::vector<std::int64_t> bits(std::size_t((size + kBlock - 1) / kBlock), 0);
  std::transform(squares.begin(), squares.end(), bits.begin() + begin / kBlock,
                 [](double sum) { return std::bit_cast<std::int64_t>(sum); });
  ranks.sum(bits);
  return std::sqrt(std::accumulate(
      bits.begin(), bits.end(), 0.0,
      [](double sum, std::int64_t block) { return sum + std::bit_cast<double>(block); }));
}

std::size_t GradientSum::bytes(const WeightLayout& layout) {
  return kLocks * sizeof(ProcessMutex) + std::size_t(layout.size) * sizeof(std::int64_t);
}

GradientSum::GradientSum(const WeightLayout& layout, Threads threads)
    : layout_(layout), threads_(std::move(threads)), exponents_(layout.slices.size()) {
  const auto memory = std::make_shared<AlignedArray<std::byte>>(bytes(layout));
  shared_.memory = {memory->span(), memory};
  prepare(true);
}

GradientSum::GradientSum(const WeightLayout& layout, SharedSum shared, Threads threads)
    : layout_(layout),
      threads_(std::move(threads)),
      shared_(std::move(shared)),
      exponents_(layout.slices.size()) {
  const auto& share_offsets = shared_.share_offsets;
  expect(
      !share_offsets.empty() && share_offsets.front() == 0 && share_offsets.back() == layout.size,
      "shares cover the layout");
  // Blocks of the norm must not be cut.
  for (const std::int64_t begin : share_offsets)
    expect(begin % kBlock == 0 || begin == layout.size, "a share is whole blocks of the norm");
  prepare(shared_.node->rank() == 0);
  shared_.node->barrier();
}

/// `first`: whether this rank constructs the locks.
void GradientSum::prepare(bool first) {
  expect(shared_.memory.bytes.size() >= bytes(layout_), "the memory of a sum has room for it");
  locks_ = shared_.memory.view<ProcessMutex>(0, kLocks);
  sum_ = shared_.memory.view<std::int64_t>(locks_.size_bytes(), std::size_t(layout_.size));
  if (first) std::uninitialized_default_construct(locks_.begin(), locks_.end());
  facts_ = std::make_unique<std::mutex>();
}

/// Zeroes the elements that only this rank reads after the micro-batches: those of the shares that
/// it exchanges, including its own. They hold the last gradient.
void GradientSum::zero() {
  const auto zero = [&](std::int64_t begin, std::int64_t end) {
    threads_.deal((end - begin + kPart - 1) / kPart, [&](std::int64_t p) {
      std::uninitialized_fill(sum_.data() + begin + p * kPart,
                              sum_.data() + std::min(end, begin + (p + 1) * kPart), 0);
    });
  };
  if (shared_.share_offsets.empty()) zero(0, layout_.size);
  for (const auto& across : shared_.across)
    zero(across.share_offsets.front(), across.share_offsets.back());
}

void GradientSum::start() {
  const std::lock_guard lock(*facts_);
  exponents_.start();
  if (std::exchange(cleared_, false)) return;
  zero();
  if (shared_.node != nullptr) shared_.node->barrier();
}

void GradientSum::clear() {
  const std::lock_guard lock(*facts_);
  gradient_ = {};
  zero();
  cleared_ = true;
}

void GradientSum::add(TensorId tensor, std::int64_t first, std::span<const float> values) {
  const auto t = std::size_t(layout_.slice_of(tensor));
  const Slice& slice = layout_.slices.at(t);
  expect(first >= 0 && first + std::int64_t(values.size()) <= slice.count,
         "a part lies inside its tensor");
  float largest = 0.0F;
  for (std::int64_t at = slice.offset + first, end = at + std::int64_t(values.size()); at < end;) {
    const std::int64_t stripe = at / kStripe, count = std::min(end, (stripe + 1) * kStripe) - at;
    const std::lock_guard lock(locks_[std::size_t(stripe) % kLocks]);
    largest = std::max(largest, kernels::accumulate_fixed_point(
                                    values.first(std::size_t(count)), exponents_.of(t),
                                    sum_.subspan(std::size_t(at), std::size_t(count))));
    values = values.subspan(std::size_t(count)), at += count;
  }
  // If a part was outside the window, the sum is undefined. finish() detects that by the largest
  // element and returns `repeat`.
  const std::lock_guard lock(*facts_);
  exponents_.note(t, largest);
}

void GradientSum::end_micro_batch() {
  const std::lock_guard lock(*facts_);
  exponents_.end_micro_batch();
}

void GradientSum::add(std::span<const float> micro_batch_gradient) {
  expect(std::int64_t(micro_batch_gradient.size()) == layout_.size,
         "a micro-batch gradient fills the layout");
  for (const Slice& slice : layout_.slices)
    add(slice.tensor, 0,
        micro_batch_gradient.subspan(std::size_t(slice.offset), std::size_t(slice.count)));
  end_micro_batch();
}

/// Converts the share's sums to floats, which overwrite them from the beginning of the share.
/// Returns the sums of squares of its blocks. A float is half as wide as a sum. So the floats of
/// blocks [b, 2b) land where the sums of blocks before b were, and threads may write all of them at
/// the same time.
std::vector<double> GradientSum::convert() {
  const auto [begin, end] = own_share();
  auto* const place = reinterpret_cast<std::byte*>(sum_.data() + begin);
  const std::int64_t blocks = (end - begin + kBlock - 1) / kBlock;
  std::vector<double> squares(static_cast<std::size_t>(blocks));
  const auto one = [&, begin = begin, end = end](std::int64_t block) {
    std::array<float, std::size_t(kBlock)> piece;
    const std::int64_t first = begin + block * kBlock, last = std::min(first + kBlock, end);
    // A tensor is taken with the padding after it, whose sums are 0.
    auto t = std::size_t(
        std::upper_bound(layout_.slices.begin(), layout_.slices.end(), first,
                         [](std::int64_t at, const Slice& s) { return at < s.offset; }) -
        layout_.slices.begin());
    for (std::int64_t at = first; at < last; ++t) {
      const std::int64_t until =
          std::min(t < layout_.slices.size() ? layout_.slices[t].offset : layout_.size, last);
      const auto count = std::size_t(until - at);
      kernels::from_fixed_point(sum_.subspan(std::size_t(at), count), exponents_.of(t - 1),
                                std::span(piece).subspan(std::size_t(at - first), count));
      at = until;
    }
    if (mask_) mask_->apply(first, std::span(piece).first(std::size_t(last - first)));
    const auto values = std::span<const float>(piece).first(std::size_t(last - first));
    squares[std::size_t(block)] = kernels::sum_of_squares(values);
    std::memcpy(place + std::size_t(first - begin) * sizeof(float), values.data(),
                values.size_bytes());
  };
  if (blocks > 0) one(0);
  for (std::int64_t from = 1; from < blocks; from *= 2) {
    const std::int64_t to = std::min(2 * from, blocks),
                       parts = (to - from + kBlocksAtOnce - 1) / kBlocksAtOnce;
    threads_.deal(parts, [&](std::int64_t p) {
      for (std::int64_t b = from + p * kBlocksAtOnce;
           b < std::min(to, from + (p + 1) * kBlocksAtOnce); ++b)
        one(b);
    });
  }
  gradient_ = {};
  if (end > begin)
    gradient_ = {std::launder(reinterpret_cast<const float*>(place)), std::size_t(end - begin)};
  return squares;
}

std::pair<std::int64_t, std::int64_t> GradientSum::own_share() const {
  const auto& share_offsets = shared_.share_offsets;
  if (share_offsets.empty()) return {0, layout_.size};
  return {share_offsets[std::size_t(shared_.own_share)],
          share_offsets[std::size_t(shared_.own_share) + 1]};
}

GradientSum::Outcome GradientSum::finish(Collectives& ranks) {
  const std::lock_guard lock(*facts_);
  expect(shared_.share_offsets.empty() || int(shared_.share_offsets.size()) == ranks.size() + 1,
         "each rank has a share");
  if (const auto outcome = exponents_.decide(ranks); outcome != Outcome::ready) return outcome;
  if (shared_.share_offsets.empty()) ranks.sum(sum_);
  for (const auto& [others, share_offsets] : shared_.across) {
    if (others->size() == 1) continue;
    std::vector<std::int64_t> from;
    for (const std::int64_t begin : share_offsets) from.push_back(begin - share_offsets.front());
    others->sum_to_shares(
        sum_.subspan(std::size_t(share_offsets.front()), std::size_t(from.back())), from);
  }
  const auto squares = convert();
  if (shared_.share_offsets.empty())
    norm_ = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
  else norm_ = norm_of_shares(ranks, layout_.size, own_share().first, squares);
  exponents_.centre();
  return Outcome::ready;
}

GradientShare GradientSum::gradient() const {
  return {gradient_, own_share().first, norm_, mask_.get()};
}

void GradientSum::only(std::shared_ptr<const GradientMask> mask) {
  const std::lock_guard lock(*facts_);
  expect(!mask || std::pair(mask->begin(), mask->end()) == own_share(),
         "a mask is that of the share");
  mask_ = std::move(mask);
}

kernels::AdamWStep next_step(const OptimizerSection& settings, double lr, double norm,
                             std::int64_t& steps) {
  const bool clip = settings.max_grad_norm > 0 && norm > settings.max_grad_norm;
  return {.lr = lr,
          .beta1 = settings.beta1,
          .beta2 = settings.beta2,
          .eps = settings.eps,
          .weight_decay = 0.0,
          .gradient_scale = clip ? settings.max_grad_norm / norm : 1.0,
          .step = ++steps};
}

void apply_adamw(const WeightLayout& layout, const OptimizerSection& settings, double lr,
                 const GradientShare& gradient, std::span<float> weights, OptimizerState& state,
                 const Threads& threads, const AdamWParts& parts) {
  state.m.resize(gradient.values.size());
  state.v.resize(gradient.values.size());
  const kernels::AdamWStep step = next_step(settings, lr, gradient.norm, state.step);
  std::vector<std::int64_t> even;  // the cuts for callers that pass no cuts
  for (std::int64_t begin = 0; parts.cuts.empty() && begin < layout.size; begin += kPart)
    even.push_back(begin);
  even.push_back(layout.size);
  const auto cuts = parts.cuts.empty() ? std::span<const std::int64_t>(even) : parts.cuts;
  const std::int64_t last = gradient.begin + std::int64_t(gradient.values.size());
  const auto first_part =
      std::upper_bound(cuts.begin(), cuts.end(), gradient.begin) - cuts.begin() - 1;
  const auto end_part = std::lower_bound(cuts.begin(), cuts.end(), last) - cuts.begin();
  threads.deal(gradient.values.empty() ? 0 : end_part - first_part, [&](std::int64_t i) {
    const auto part = std::size_t(first_part + i);
    const std::int64_t begin = std::max(cuts[part], gradient.begin),
                       end = std::min(cuts[part + 1], last);
    kernels::AdamWStep own = step;
    auto slice = std::upper_bound(layout.slices.begin(), layout.slices.end(), begin,
                                  [](std::int64_t at, const Slice& s) { return at < s.offset; }) -
                 1;
    for (; slice != layout.slices.end() && slice->offset < end; ++slice) {
      const auto [first, count] = part_of(*slice, begin, end);
      if (count == 0) continue;
      const std::size_t in_share = first - std::size_t(gradient.begin);
      own.weight_decay = slice->decay ? settings.weight_decay : 0.0;
      const auto update = [&](std::size_t from, std::size_t n) {
        kernels::adamw(weights.subspan(first + from, n),
                       gradient.values.subspan(in_share + from, n),
                       std::span(state.m).subspan(in_share + from, n),
                       std::span(state.v).subspan(in_share + from, n), own);
      };
      if (gradient.mask == nullptr) update(0, count);
      else
        update_masked(*gradient.mask, weights.subspan(first, count), std::int64_t(first), update);
    }
    if (parts.done && begin == cuts[part] && end == cuts[part + 1]) parts.done(part);
  });
}

}  // namespace rollcall::model
