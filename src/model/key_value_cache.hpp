// Private to the model: keys and values that generation keeps, of prompts and of live samples.
#pragma once

#include "model/aligned_floats.hpp"
#include "model/packed_rows.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::model {

/// A prompt's pages [layer][page] and the hidden state of its last token. Samples share its whole pages by reference.
struct PromptCache {
  AlignedArray<std::byte> pages;
  std::int64_t length = 0;         ///< positions
  std::vector<float> last_hidden;  ///< [hidden], before the final norm
};

/// Packed prompts whose pages stand in their caches.
class CapturedPrompts final : public PackedSequences {
 public:
  CapturedPrompts(std::span<const std::int64_t> offsets, PageShape shape, std::int64_t layers, std::span<PromptCache* const> caches);

 private:
  std::byte* own_pages(std::size_t layer, std::size_t sequence) override;
  std::vector<PromptCache*> caches_;
};

/// Slots of the live samples: a row's new key and value go to its own page, and it sees all earlier ones and its prompt's.
class CacheSlots final : public KeyValues {
 public:
  /// Each slot has room for `capacity` positions.
  CacheSlots(PageShape shape, std::int64_t layers, std::int64_t capacity, std::int64_t slots);
  std::int64_t free() const { return std::int64_t(free_.size()); }
  std::int64_t acquire(std::shared_ptr<const PromptCache> prompt);  ///< a slot that begins with the prompt
  void release(std::int64_t slot);
  /// The rows about to run; borrowed until they have.
  void select(std::span<const std::int64_t> slots, std::span<const std::int32_t> positions);
  std::span<const kernels::AttentionRow> place(std::size_t layer, const float* k, const float* v) override;

 private:
  std::byte* own(std::int64_t slot, std::int64_t layer, std::int64_t page);
  const void** table(std::int64_t slot, std::int64_t layer) { return tables_.data() + (slot * layers_ + layer) * pages_; }

  PageShape shape_;
  std::int64_t layers_, pages_;
  AlignedArray<std::byte> memory_;                           ///< [slot][layer][page], touched only as sequences grow into it
  std::vector<const void*> tables_;                          ///< [slot][layer][page]
  std::vector<std::shared_ptr<const PromptCache>> prompts_;  ///< [slot]
  std::vector<std::int64_t> free_;
  std::span<const std::int64_t> slots_;
  std::span<const std::int32_t> positions_;
  std::vector<kernels::AttentionRow> rows_;
};

}  // namespace rollcall::model
