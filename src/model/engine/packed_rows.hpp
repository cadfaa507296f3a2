// Private to the model: row-wise facts of packed sequences, and where a layer's keys and values
// live.
#pragma once

#include "model/engine/packed_policy.hpp"
#include "model/engine/page_pool.hpp"

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

/// Sequences one after the other without padding: row i of a sequence sees its rows 0..i. One that
/// continues another sees all that stands before that one, and that one's rows, as well; it shares
/// its parent's whole pages, and what stands before it beyond them is put into its own first page.
class PackedSequences : public KeyValues {
 public:
  /// offsets [S+1]: sequence s is rows [offsets[s], offsets[s+1]). parents [S] or empty, as in
  /// MicroBatch.
  PackedSequences(std::span<const std::int64_t> offsets, PageShape shape,
                  std::span<const std::int64_t> parents = {}, const PageMemory& memory = {});
  std::span<const kernels::AttentionRow> rows() const override { return rows_; }
  // pages hold the layer at hand alone
  std::int64_t offset(std::size_t) const override { return 0; }
  std::int64_t units() const override { return std::int64_t(sequences()); }
  void store(std::size_t layer, std::int64_t unit, const float* k, const float* v) override;
  std::vector<Again> again() const override;  ///< what stands before a sequence in its first own
                                              ///< page
  /// [n] inside the sequence, those before it counted
  std::span<const std::int32_t> positions() const { return positions_; }

  /// A sequence: its own rows, and how many of others stand before them.
  struct Stretch {
    std::int64_t parent, before, begin, rows;  ///< parent: -1 where none stand before
    std::int64_t length() const { return before + rows; }
    std::int64_t shared_pages() const { return before / kernels::kPageKeys; }
    std::int64_t own_pages() const { return kernels::pages_of(length()) - shared_pages(); }
  };
  const Stretch& stretch(std::size_t sequence) const { return stretches_[sequence]; }
  std::size_t sequences() const { return stretches_.size(); }
  /// visit(position, row, count) for `count` positions of a sequence at a time, in order, that
  /// stand in rows one after the other.
  template <class Visit>
  void each_part(std::size_t sequence, const Visit& visit) const {
    const Stretch& own = stretches_[sequence];
    if (own.parent >= 0) each_part(std::size_t(own.parent), visit);
    visit(own.before, own.begin, own.rows);
  }
  /// Copies a sequence's rows of `from` [n, width] in order.
  void gather(std::size_t sequence, const float* from, std::int64_t width, float* into) const;

 private:
  std::int64_t alike(std::size_t sequence, std::size_t other) const;  ///< first rows that both have

  std::vector<Stretch> stretches_;  ///< [S]
  PageShape shape_;
  std::vector<std::int32_t> positions_;
  std::vector<kernels::AttentionRow> rows_;  ///< [n]
  std::vector<const void*> tables_;          ///< the pages of each sequence, one after the other
  std::vector<std::byte*> own_;              ///< [S] first own page of each sequence
  AlignedArray<std::byte> memory_;           ///< own pages
};

/// Contract of a micro-batch: offsets, targets and tokens inside their bounds.
void expect_micro_batch(const PolicyModel::Packed& policy, const MicroBatch& micro_batch);

/// The row at which each target is predicted: the one before it, or its parent's last. [M]
std::vector<std::int64_t> predicting_rows(const MicroBatch& micro_batch);

}  // namespace rollcall::model
