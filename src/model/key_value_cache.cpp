// Copies of keys and values into prompt caches and sample slots.
#include "model/key_value_cache.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <numeric>

namespace rollcall::model {
namespace {

/// One row's key and value side by side.
void store(const float* k, const float* v, std::int64_t width, float* into) {
  std::copy_n(k, width, into);
  std::copy_n(v, width, into + width);
}

}  // namespace

CapturedPrompts::CapturedPrompts(std::span<const std::int64_t> offsets, CacheShape shape, std::span<PromptCache* const> caches)
    : PackedSequences(offsets, shape.kv_width), shape_(shape), caches_(caches.begin(), caches.end()) {
  for (std::size_t s = 0; s < caches_.size(); ++s) caches_[s]->key_values.resize(std::size_t(shape.floats(offsets[s + 1] - offsets[s])));
}

std::span<const kernels::AttentionRow> CapturedPrompts::place(std::size_t layer, const float* k, const float* v) {
  for (std::size_t s = 0; s < caches_.size(); ++s) {
    const std::int64_t begin = offsets()[s], end = offsets()[s + 1];
    float* into = caches_[s]->key_values.data() + std::int64_t(layer) * shape_.layer_floats(end - begin);
    for (std::int64_t row = begin; row < end; ++row, into += shape_.stride())
      store(k + row * shape_.kv_width, v + row * shape_.kv_width, shape_.kv_width, into);
  }
  return PackedSequences::place(layer, k, v);
}

CacheSlots::CacheSlots(CacheShape shape, std::int64_t capacity, std::int64_t slots)
    : shape_(shape), capacity_(capacity), memory_(std::size_t(slots * shape.floats(capacity))), free_(std::size_t(slots)) {
  std::iota(free_.rbegin(), free_.rend(), 0);
}

std::int64_t CacheSlots::acquire(const PromptCache& prompt, std::int64_t length) {
  expect(!free_.empty() && length < capacity_, "a sample is admitted to a slot it fits");
  const std::int64_t slot = free_.back(), floats = shape_.layer_floats(length);
  free_.pop_back();
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) std::copy_n(prompt.key_values.data() + layer * floats, floats, at(slot, std::size_t(layer)));
  return slot;
}

void CacheSlots::select(std::span<const std::int64_t> slots, std::span<const std::int32_t> positions) {
  slots_ = slots;
  positions_ = positions;
  rows_.resize(slots.size());
}

std::span<const kernels::AttentionRow> CacheSlots::place(std::size_t layer, const float* k, const float* v) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::int64_t offset = std::int64_t(row) * shape_.kv_width;
    float* first = at(slots_[row], layer);
    store(k + offset, v + offset, shape_.kv_width, first + positions_[row] * shape_.stride());
    rows_[row] = {first, first + shape_.kv_width, positions_[row] + 1, shape_.stride()};
  }
  return rows_;
}

float* CacheSlots::at(std::int64_t slot, std::size_t layer) {
  return memory_.data() + slot * shape_.floats(capacity_) + std::int64_t(layer) * shape_.layer_floats(capacity_);
}

}  // namespace rollcall::model
