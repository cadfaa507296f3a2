// Private to the model: keys and values that generation keeps, of prompts and of live samples.
#pragma once

#include "model/aligned_floats.hpp"
#include "model/packed_rows.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// Keys and values of one sequence: [layer][position][k | v][kv_width].
struct CacheShape {
  std::int64_t layers, kv_width;
  std::int64_t stride() const { return 2 * kv_width; }
  std::int64_t layer_floats(std::int64_t capacity) const { return capacity * stride(); }
  std::int64_t floats(std::int64_t capacity) const { return layers * layer_floats(capacity); }
};

/// A prompt's keys and values and the hidden state of its last token; shared out to the samples.
struct PromptCache {
  std::vector<float> key_values;   ///< CacheShape with the prompt's length as capacity
  std::vector<float> last_hidden;  ///< [hidden], before the final norm
};

/// Packed prompts whose keys and values are also copied into their caches.
class CapturedPrompts final : public PackedSequences {
 public:
  CapturedPrompts(std::span<const std::int64_t> offsets, CacheShape shape, std::span<PromptCache* const> caches);
  std::span<const kernels::AttentionRow> place(std::size_t layer, const float* k, const float* v) override;

 private:
  CacheShape shape_;
  std::vector<PromptCache*> caches_;
};

/// Slots of the live samples: a row's new key and value go to its own slot, where it sees all earlier ones.
class CacheSlots final : public KeyValues {
 public:
  CacheSlots(CacheShape shape, std::int64_t capacity, std::int64_t slots);
  std::int64_t free() const { return std::int64_t(free_.size()); }
  std::int64_t acquire(const PromptCache& prompt, std::int64_t length);  ///< a slot that starts with the prompt's keys and values
  void release(std::int64_t slot) { free_.push_back(slot); }
  /// The rows about to run; borrowed until they have.
  void select(std::span<const std::int64_t> slots, std::span<const std::int32_t> positions);
  std::span<const kernels::AttentionRow> place(std::size_t layer, const float* k, const float* v) override;

 private:
  float* at(std::int64_t slot, std::size_t layer);

  CacheShape shape_;
  std::int64_t capacity_;
  AlignedFloats memory_;  ///< pages are touched only as sequences grow into them
  std::vector<std::int64_t> free_;
  std::span<const std::int64_t> slots_;
  std::span<const std::int32_t> positions_;
  std::vector<kernels::AttentionRow> rows_;
};

}  // namespace rollcall::model
