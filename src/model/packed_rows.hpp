// Private to the model: row-wise facts of packed sequences, and where a layer's keys and values live.
#pragma once

#include "model/packed_policy.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// Where the keys and values of the rows at hand live, layer by layer.
class KeyValues {
 public:
  virtual ~KeyValues() = default;
  /// Takes k, v [n, kv_width] of one layer and returns what each row may see. The result holds until the next call.
  virtual std::span<const kernels::AttentionRow> place(std::size_t layer, const float* k, const float* v) = 0;
};

/// Sequences one after the other without padding: row i of a sequence sees its rows 0..i, where the layer left them.
class PackedSequences : public KeyValues {
 public:
  /// offsets [S+1]: sequence s is rows [offsets[s], offsets[s+1]).
  PackedSequences(std::span<const std::int64_t> offsets, std::int64_t kv_width);
  std::span<const kernels::AttentionRow> place(std::size_t layer, const float* k, const float* v) override;
  std::span<const std::int32_t> positions() const { return positions_; }
  std::span<const std::int64_t> offsets() const { return offsets_; }

 private:
  std::vector<std::int64_t> offsets_;
  std::vector<std::int32_t> positions_;      ///< [n] inside the sequence
  std::vector<kernels::AttentionRow> rows_;  ///< [n]
  std::int64_t kv_width_;
};

/// Contract of a leaf: offsets, targets and tokens inside their bounds.
void expect_leaf(const Policy::Packed& policy, const Leaf& leaf);

}  // namespace rollcall::model
