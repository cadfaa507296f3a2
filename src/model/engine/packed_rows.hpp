// Private to the model: rows of packed sequences, and where the keys and values of a layer are
// stored.
#pragma once

#include "model/engine/packed_policy.hpp"
#include "model/engine/page_pool.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// Where the keys and values of the current rows are stored.
class KeyValues {
 public:
  virtual ~KeyValues() = default;
  /// The positions that each row attends to: [n], the same for all layers.
  virtual std::span<const kernels::AttentionRow> rows() const = 0;
  /// The offset in bytes at which a layer begins in each page.
  virtual std::int64_t offset(std::size_t layer) const = 0;
  /// Stores k and v [n, kv_width] of one layer, unit by unit. No two units write to the same page,
  /// so threads may store different units.
  virtual std::int64_t units() const = 0;
  virtual void store(std::size_t layer, std::int64_t unit, const float* k, const float* v) = 0;
  /// A row that is also stored in a second place.
  struct Again {
    std::int32_t row;
    kernels::AttentionRow place;  ///< the second place: its last position is that of the row
  };
  virtual std::vector<Again> again() const { return {}; }
};

/// Sequences laid end to end without padding. Row i of a sequence attends to its rows 0..i. A
/// sequence with a parent also attends to the rows of the parent and to all that the parent attends
/// to. It shares the whole pages before it with its parent. Positions before it that do not fill a
/// whole page are stored a second time, in its own first page.
class PackedSequences : public KeyValues {
 public:
  /// offsets [S+1]: sequence s has the rows [offsets[s], offsets[s+1]). parents [S] or empty, as in
  /// MicroBatch.
  PackedSequences(std::span<const std::int64_t> offsets, PageShape shape,
                  std::span<const std::int64_t> parents = {}, const PageMemory& memory = {});
  std::span<const kernels::AttentionRow> rows() const override { return rows_; }
  // The pages hold one layer only, which the next layer overwrites.
  std::int64_t offset(std::size_t) const override { return 0; }
  std::int64_t units() const override { return std::int64_t(sequences()); }
  void store(std::size_t layer, std::int64_t unit, const float* k, const float* v) override;
  /// The rows of other sequences that are stored again in a sequence's own first page.
  std::vector<Again> again() const override;
  /// [n] each row's position in its sequence, counting the rows that come before the sequence.
  std::span<const std::int32_t> positions() const { return positions_; }

  /// A sequence: its own rows, and the number of rows from others that come before them.
  struct Stretch {
    std::int64_t parent, before, begin, rows;  ///< parent: -1 if there is no parent
    std::int64_t length() const { return before + rows; }
    std::int64_t shared_pages() const { return before / kernels::kPageKeys; }
    std::int64_t own_pages() const { return kernels::pages_of(length()) - shared_pages(); }
  };
  const Stretch& stretch(std::size_t sequence) const { return stretches_[sequence]; }
  std::size_t sequences() const { return stretches_.size(); }
  /// Calls visit(position, row, count) for each run of `count` positions of a sequence that lie in
  /// consecutive rows, in the order of positions.
  template <class Visit>
  void each_part(std::size_t sequence, const Visit& visit) const {
    const Stretch& own = stretches_[sequence];
    if (own.parent >= 0) each_part(std::size_t(own.parent), visit);
    visit(own.before, own.begin, own.rows);
  }
  /// Copies the rows of a sequence, and those before it, from `from` [n, width] in order.
  void gather(std::size_t sequence, const float* from, std::int64_t width, float* into) const;

 private:
  /// The number of leading positions that two sequences share.
  std::int64_t alike(std::size_t sequence, std::size_t other) const;

  std::vector<Stretch> stretches_;  ///< [S]
  PageShape shape_;
  std::vector<std::int32_t> positions_;
  std::vector<kernels::AttentionRow> rows_;  ///< [n]
  std::vector<const void*> tables_;          ///< the pages of all sequences, sequence by sequence
  std::vector<std::byte*> own_;              ///< [S] the first own page of each sequence
  AlignedArray<std::byte> memory_;           ///< the memory of all own pages
};

/// Expects offsets, targets and tokens of a micro-batch to be within their bounds.
void expect_micro_batch(const PolicyModel::Packed& policy, const MicroBatch& micro_batch);

/// [M] the row from which each target is predicted. It is the row before the target, or the last
/// row of the parent.
std::vector<std::int64_t> predicting_rows(const MicroBatch& micro_batch);

}  // namespace rollcall::model
