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

/// Sequences one after the other without padding: row i of a sequence sees its rows 0..i. One that continues another shares its parent's whole pages; what its
/// parent has beyond them is put into its own first page.
class PackedSequences : public KeyValues {
 public:
  /// offsets [S+1]: sequence s is rows [offsets[s], offsets[s+1]). parents [S] or empty, as in Leaf.
  PackedSequences(std::span<const std::int64_t> offsets, PageShape shape, std::span<const std::int64_t> parents = {});
  std::span<const kernels::AttentionRow> place(std::size_t layer, const float* k, const float* v) override;
  std::span<const std::int32_t> positions() const { return positions_; }  ///< [n] inside the sequence, its parent's rows counted
  std::span<const std::int64_t> offsets() const { return offsets_; }

  /// Rows of a sequence in order: its parent's, if any, then its own.
  struct Stretch {
    std::int64_t parent_begin, parent_rows, begin, rows;
    std::int64_t length() const { return parent_rows + rows; }
    std::int64_t shared_pages() const { return parent_rows / kernels::kPageKeys; }
    std::int64_t own_pages() const { return kernels::pages_of(length()) - shared_pages(); }
  };
  Stretch stretch(std::size_t sequence) const;
  std::size_t sequences() const { return offsets_.size() - 1; }
  /// Copies a sequence's rows of `from` [n, width] in order; returns the end of what was written.
  float* gather(const Stretch& stretch, const float* from, std::int64_t width, float* into) const;

 protected:
  /// Where a sequence's own pages of a layer go: zeros, or what stood there for another layer.
  virtual std::byte* own_pages(std::size_t layer, std::size_t sequence);
  const PageShape& shape() const { return shape_; }

 private:
  std::vector<std::int64_t> offsets_, parents_;
  PageShape shape_;
  std::vector<std::int32_t> positions_;
  std::vector<kernels::AttentionRow> rows_;  ///< [n]
  std::vector<std::int64_t> first_page_;     ///< [S + 1] of each sequence in tables_
  std::vector<const void*> tables_;          ///< the pages of each sequence, one after the other
  std::vector<std::int64_t> first_own_;      ///< [S] of each sequence among the own pages of all
  std::int64_t own_total_ = 0;
  AlignedArray<std::byte> memory_;  ///< own pages of the layer at hand
};

/// Contract of a leaf: offsets, targets and tokens inside their bounds.
void expect_leaf(const Policy::Packed& policy, const Leaf& leaf);

/// The row at which each target is predicted: the one before it, or its parent's last. [M]
std::vector<std::int64_t> predicting_rows(const Leaf& leaf);

}  // namespace rollcall::model
