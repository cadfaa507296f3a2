// Private to the model: row-wise facts of packed sequences, and where a layer's keys and values live.
#pragma once

#include "model/packed_policy.hpp"
#include "model/page_pool.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// Where the keys and values of the rows at hand live.
class KeyValues {
 public:
  virtual ~KeyValues() = default;
  /// What each row may see: [n], the same for all layers.
  virtual std::span<const kernels::AttentionRow> rows() const = 0;
  /// Where in a page a layer begins, in bytes.
  virtual std::int64_t offset(std::size_t layer) const = 0;
  /// Stores k, v [n, kv_width] of one layer unit by unit: no two units touch the same page.
  virtual std::int64_t units() const = 0;
  virtual void store(std::size_t layer, std::int64_t unit, const float* k, const float* v) = 0;
  /// Rows that stand in a second place, too.
  struct Again {
    std::int32_t row;
    kernels::AttentionRow place;  ///< its last position
  };
  virtual std::vector<Again> again() const { return {}; }
};

/// Sequences one after the other without padding: row i of a sequence sees its rows 0..i. One that continues another shares its parent's whole pages; what its
/// parent has beyond them is put into its own first page.
class PackedSequences : public KeyValues {
 public:
  /// offsets [S+1]: sequence s is rows [offsets[s], offsets[s+1]). parents [S] or empty, as in Leaf.
  PackedSequences(std::span<const std::int64_t> offsets, PageShape shape, std::span<const std::int64_t> parents = {}, const PageMemory& memory = {});
  std::span<const kernels::AttentionRow> rows() const override { return rows_; }
  std::int64_t offset(std::size_t) const override { return 0; }  // pages hold the layer at hand alone
  std::int64_t units() const override { return std::int64_t(sequences()); }
  void store(std::size_t layer, std::int64_t unit, const float* k, const float* v) override;
  std::vector<Again> again() const override;                              ///< what a parent has in the first own page of its children
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

 private:
  std::vector<std::int64_t> offsets_, parents_;
  PageShape shape_;
  std::vector<std::int32_t> positions_;
  std::vector<kernels::AttentionRow> rows_;  ///< [n]
  std::vector<const void*> tables_;          ///< the pages of each sequence, one after the other
  std::vector<std::byte*> own_;              ///< [S] first own page of each sequence
  AlignedArray<std::byte> memory_;           ///< own pages
};

/// Contract of a leaf: offsets, targets and tokens inside their bounds.
void expect_leaf(const Policy::Packed& policy, const Leaf& leaf);

/// The row at which each target is predicted: the one before it, or its parent's last. [M]
std::vector<std::int64_t> predicting_rows(const Leaf& leaf);

}  // namespace rollcall::model
