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

/// Sequences one after the other without padding: row i of a sequence sees its rows 0..i, where the layer left them. Keys and values of one that continues
/// another are put behind a copy of its parent's, so that the kernels see the same memory as without sharing.
class PackedSequences : public KeyValues {
 public:
  /// offsets [S+1]: sequence s is rows [offsets[s], offsets[s+1]). parents [S] or empty, as in Leaf.
  PackedSequences(std::span<const std::int64_t> offsets, std::int64_t kv_width, std::span<const std::int64_t> parents = {});
  std::span<const kernels::AttentionRow> place(std::size_t layer, const float* k, const float* v) override;
  std::span<const std::int32_t> positions() const { return positions_; }  ///< [n] inside the sequence, its parent's rows counted
  std::span<const std::int64_t> offsets() const { return offsets_; }

  /// Rows of a sequence in order: its parent's, if any, then its own.
  struct Stretch {
    std::int64_t parent_begin, parent_rows, begin, rows;
    std::int64_t length() const { return parent_rows + rows; }
  };
  Stretch stretch(std::size_t sequence) const;
  std::size_t sequences() const { return offsets_.size() - 1; }
  /// Copies a sequence's rows of `from` [n, width] in order; returns the end of what was written.
  float* gather(const Stretch& stretch, const float* from, std::int64_t width, float* into) const;

 private:
  std::vector<std::int64_t> offsets_, parents_;
  std::vector<std::int32_t> positions_;
  std::vector<kernels::AttentionRow> rows_;  ///< [n]
  std::vector<float> joined_;                ///< keys, then values, of the sequences with a parent
  std::int64_t kv_width_, joined_rows_ = 0;
};

/// Contract of a leaf: offsets, targets and tokens inside their bounds.
void expect_leaf(const Policy::Packed& policy, const Leaf& leaf);

/// The row at which each target is predicted: the one before it, or its parent's last. [M]
std::vector<std::int64_t> predicting_rows(const Leaf& leaf);

}  // namespace rollcall::model
