// Pages of prompts and of the samples that share them.
#include "model/key_value_cache.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <numeric>

namespace rollcall::model {

CapturedPrompts::CapturedPrompts(std::span<const std::int64_t> offsets, PageShape shape, std::int64_t layers, std::span<PromptCache* const> caches)
    : PackedSequences(offsets, shape), caches_(caches.begin(), caches.end()) {
  for (std::size_t s = 0; s < caches_.size(); ++s) {
    PromptCache& cache = *caches_[s];
    cache.length = offsets[s + 1] - offsets[s];
    cache.pages = AlignedArray<std::byte>(std::size_t(layers * kernels::pages_of(cache.length) * shape.bytes()));
    std::fill_n(cache.pages.data(), cache.pages.size(), std::byte(0));
  }
}

std::byte* CapturedPrompts::own_pages(std::size_t layer, std::size_t sequence) {
  PromptCache& cache = *caches_[sequence];
  return cache.pages.data() + std::int64_t(layer) * kernels::pages_of(cache.length) * shape().bytes();
}

CacheSlots::CacheSlots(PageShape shape, std::int64_t layers, std::int64_t capacity, std::int64_t slots)
    : shape_(shape),
      layers_(layers),
      pages_(kernels::pages_of(capacity)),
      memory_(std::size_t(slots * layers * pages_ * shape.bytes())),
      tables_(std::size_t(slots * layers * pages_)),
      prompts_(std::size_t(slots)),
      free_(std::size_t(slots)) {
  std::iota(free_.rbegin(), free_.rend(), 0);
}

std::byte* CacheSlots::own(std::int64_t slot, std::int64_t layer, std::int64_t page) {
  return memory_.data() + ((slot * layers_ + layer) * pages_ + page) * shape_.bytes();
}

std::int64_t CacheSlots::acquire(std::shared_ptr<const PromptCache> prompt) {
  const std::int64_t shared = prompt->length / kernels::kPageKeys, all = kernels::pages_of(prompt->length), bytes = shape_.bytes();
  expect(!free_.empty() && all <= pages_, "a sample is admitted to a slot it fits");
  const std::int64_t slot = free_.back();
  free_.pop_back();
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    const std::byte* from = prompt->pages.data() + layer * all * bytes;
    for (std::int64_t p = 0; p < pages_; ++p) table(slot, layer)[p] = p < shared ? from + p * bytes : own(slot, layer, p);
    if (shared < all) std::copy_n(from + shared * bytes, bytes, own(slot, layer, shared));  // the page that the sample goes on writing
  }
  prompts_[std::size_t(slot)] = std::move(prompt);
  return slot;
}

void CacheSlots::release(std::int64_t slot) {
  prompts_[std::size_t(slot)].reset();
  free_.push_back(slot);
}

void CacheSlots::select(std::span<const std::int64_t> slots, std::span<const std::int32_t> positions) {
  slots_ = slots;
  positions_ = positions;
  rows_.resize(slots.size());
}

std::span<const kernels::AttentionRow> CacheSlots::place(std::size_t layer, const float* k, const float* v) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::int64_t offset = std::int64_t(row) * shape_.width(), slot = positions_[row] % kernels::kPageKeys;
    std::byte* page = own(slots_[row], std::int64_t(layer), positions_[row] / kernels::kPageKeys);
    if (slot == 0) std::fill_n(page, shape_.bytes(), std::byte(0));
    shape_.kernels->store_position(k + offset, v + offset, shape_.heads, slot, page);
    rows_[row] = {table(slots_[row], std::int64_t(layer)), positions_[row] + 1};
  }
  return rows_;
}

}  // namespace rollcall::model
