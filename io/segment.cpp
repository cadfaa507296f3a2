// Segment checksums are stored as two attributes of a dataset.
#include "io/segment.hpp"

#include "base/numbers/hash.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::io {
namespace {

constexpr const char* kChecksums = "segment_xxh3_64";
constexpr const char* kLength = "segment_bytes";
constexpr std::uint64_t kMostSegments = 4096;

std::uint64_t segments_of(std::uint64_t column_bytes, std::uint64_t segment) {
  return column_bytes / segment + (column_bytes % segment != 0 ? 1 : 0);
}

std::vector<std::uint64_t> checksums_of(std::span<const std::byte> column, std::uint64_t segment) {
  std::vector<std::uint64_t> checksums;
  for (std::uint64_t offset = 0; offset < column.size(); offset += segment)
    checksums.push_back(checksum64(
        column.subspan(offset, std::min<std::uint64_t>(segment, column.size() - offset))));
  return checksums;
}

void create(hid_t dataset, const char* name, hid_t space, const std::uint64_t* values) {
  const Handle attribute(H5Acreate2(dataset, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT),
                         "create attribute", name);
  check(H5Awrite(attribute, H5T_STD_U64LE, values), "write attribute", name);
}

}  // namespace

std::uint64_t segment_bytes(std::uint64_t column_bytes) {
  std::uint64_t segment = kSegmentBytes;
  while (segments_of(column_bytes, segment) > kMostSegments) segment *= 2;
  return segment;
}

void add_segments(hid_t dataset, std::uint64_t column_bytes) {
  const std::uint64_t segment = segment_bytes(column_bytes);
  const hsize_t count = segments_of(column_bytes, segment);
  if (count <= 1) return;
  const Handle scalar(H5Screate(H5S_SCALAR), "make scalar space"),
      list(H5Screate_simple(1, &count, nullptr), "make space");
  create(dataset, kLength, scalar, &segment);
  create(dataset, kChecksums, list, std::vector<std::uint64_t>(count, 0).data());
}

void write_segments(hid_t dataset, std::span<const std::uint64_t> checksums) {
  if (checksums.size() <= 1) return;
  const Handle attribute(H5Aopen(dataset, kChecksums, H5P_DEFAULT), "open attribute", kChecksums);
  check(H5Awrite(attribute, H5T_STD_U64LE, checksums.data()), "write attribute", kChecksums);
}

std::vector<std::uint64_t> segment_checksums(std::span<const std::byte> column) {
  return checksums_of(column, segment_bytes(column.size()));
}

std::uint64_t segment_count(std::uint64_t column_bytes) {
  return segments_of(column_bytes, segment_bytes(column_bytes));
}

Stretches differing_segments(std::span<const std::byte> column, std::uint64_t segment,
                             std::span<const std::uint64_t> wanted) {
  const auto found = checksums_of(column, segment);
  Stretches damaged;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != wanted[i])
      damaged.emplace_back(i * segment,
                           std::min<std::uint64_t>((i + 1) * segment, column.size()) - 1);
  }
  return damaged;
}

Stretches damaged_segments(hid_t dataset, std::span<const std::byte> column) {
  if (H5Aexists(dataset, kChecksums) <= 0) return {};
  std::uint64_t segment = 0;
  const Handle length(H5Aopen(dataset, kLength, H5P_DEFAULT), "open attribute", kLength),
      list(H5Aopen(dataset, kChecksums, H5P_DEFAULT), "open attribute", kChecksums);
  check_scalar(length, kLength);
  check(H5Aread(length, H5T_STD_U64LE, &segment), "read attribute", kLength);
  const Handle space(H5Aget_space(list), "get space of", kChecksums);
  const auto count = H5Sget_simple_extent_npoints(space);
  if (segment == 0 || count < 0 || std::uint64_t(count) != segments_of(column.size(), segment))
    throw FileFault(
        fmt::format("{} are not one for each segment of {} bytes", kChecksums, segment));
  std::vector<std::uint64_t> wanted(std::size_t(count), 0);
  check(H5Aread(list, H5T_STD_U64LE, wanted.data()), "read attribute", kChecksums);
  return differing_segments(column, segment, wanted);
}

}  // namespace rollcall::io
