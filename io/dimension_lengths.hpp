// The lengths of a file's dimensions, as given by its columns, with the checks between columns.
// Private to io.
#pragma once

#include "io/schema.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::io {

/// All columns of a dimension have the same length, and the values of a count column add up to the
/// length of the dimension that it counts. Every fault is a FileFault.
class DimensionLengths {
 public:
  /// Notes the number of rows that a column has of a dimension. Throws when an earlier column had a
  /// different number. `column`: its path, for the message.
  void note(Dim dim, std::uint64_t length, const std::string& column);
  /// Notes the values of a count column (Column::counts), so that check_counts() can compare their
  /// sum. Throws if a signed value is negative or exceeds 32 bits, because a row's count never
  /// does.
  void note_counts(const Column& column, std::span<const std::uint32_t> values);
  void note_counts(const Column& column, std::span<const std::int64_t> values);
  /// To be called after all reads. Throws when the sum of a count column differs from the length of
  /// the dimension that it counts.
  void check_counts() const;
  std::uint64_t of(Dim dim) const { return extents_[index(dim)]; }
  const Extents& extents() const { return extents_; }

 private:
  Extents extents_{};
  std::array<bool, kDims> noted_{};
  std::vector<std::pair<Column, std::uint64_t>> sums_;
};

}  // namespace rollcall::io
