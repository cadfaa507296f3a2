// Lengths are compared when they are noted, sums of counts once all columns have been read.
#include "io/dimension_lengths.hpp"

#include "io/table_file.hpp"

#include <fmt/format.h>

#include <numeric>

namespace rollcall::io {

void DimensionLengths::note(Dim dim, std::uint64_t length, const std::string& column) {
  if (std::exchange(noted_[index(dim)], true) && extents_[index(dim)] != length)
    throw FileFault(
        fmt::format("{} has {} rows where its table has {}", column, length, extents_[index(dim)]));
  extents_[index(dim)] = length;
}

void DimensionLengths::note_counts(const Column& column, std::span<const std::uint32_t> values) {
  sums_.emplace_back(column, std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
}

void DimensionLengths::note_counts(const Column& column, std::span<const std::int64_t> values) {
  std::uint64_t sum = 0;
  for (const std::int64_t value : values) {
    if (!std::in_range<std::uint32_t>(value))
      throw FileFault(fmt::format("{} holds {}, which is no count", path_of(column), value));
    sum += std::uint64_t(value);
  }
  sums_.emplace_back(column, sum);
}

void DimensionLengths::check_counts() const {
  for (const auto& [column, sum] : sums_) {
    const Dim dim = *column.counts;
    if (noted_[index(dim)] && sum != extents_[index(dim)])
      throw FileFault(fmt::format("{} sums to {} where {} has {} rows", path_of(column), sum,
                                  kDimensions[index(dim)].name, extents_[index(dim)]));
  }
}

}  // namespace rollcall::io
