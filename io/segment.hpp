// Checksums of the segments of a long column, in addition to that of the whole column, so that
// damage is reported with its place. Private to io.
#pragma once

#include "io/handle.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::io {

inline constexpr std::uint64_t kSegmentBytes = std::uint64_t{4} << 20U;
/// 4 MiB, doubled until the column has at most 4,096 segments. Their checksums then fit into one
/// attribute (HDF5 keeps up to 64 KiB in the header).
std::uint64_t segment_bytes(std::uint64_t column_bytes);

/// Creates the attributes for the segment checksums of a column of this size. A column of one
/// segment has none, because the checksum of the column is the same.
void add_segments(hid_t dataset, std::uint64_t column_bytes);
std::uint64_t segment_count(std::uint64_t column_bytes);  ///< number of segments of segment_bytes
/// Writes `checksums` [segments], one per segment, into the attributes that add_segments() made.
void write_segments(hid_t dataset, std::span<const std::uint64_t> checksums);
std::vector<std::uint64_t> segment_checksums(std::span<const std::byte> column);

using Stretches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
/// Byte ranges [first, last] that do not have the expected checksum. `wanted`: [segments].
Stretches differing_segments(std::span<const std::byte> column, std::uint64_t segment,
                             std::span<const std::uint64_t> wanted);
/// Byte ranges [first, last] that do not have the recorded checksum. Also empty if no checksums are
/// recorded (files of schema 1.0). Throws FileFault.
Stretches damaged_segments(hid_t dataset, std::span<const std::byte> column);

}  // namespace rollcall::io
