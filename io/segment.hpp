// Checksums of the segments of a long column, beside the one of the whole column: damage is said
// with its place. Private to io.
#pragma once

#include "io/handle.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::io {

inline constexpr std::uint64_t kSegmentBytes = std::uint64_t{4} << 20U;
/// 4 MiB, doubled until the column has at most 4,096 segments: their checksums then fit into one
/// attribute (HDF5 keeps up to 64 KiB in the header).
std::uint64_t segment_bytes(std::uint64_t column_bytes);

/// Makes room for the checksums of a column of this size; a column of one segment has none, since
/// its own checksum says the same.
void add_segments(hid_t dataset, std::uint64_t column_bytes);
std::uint64_t segment_count(std::uint64_t column_bytes);  ///< by segment_bytes
/// One checksum for each segment, in order.
void write_segments(hid_t dataset, std::span<const std::uint64_t> checksums);
std::vector<std::uint64_t> segment_checksums(std::span<const std::byte> column);

using Stretches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
/// Stretches [first, last] of bytes whose checksum is not the one wanted; one is wanted for each
/// segment.
Stretches differing_segments(std::span<const std::byte> column, std::uint64_t segment,
                             std::span<const std::uint64_t> wanted);
/// Stretches [first, last] of bytes that differ from what is recorded; empty too when nothing is
/// recorded (files of schema 1.0). Throws FileFault.
Stretches damaged_segments(hid_t dataset, std::span<const std::byte> column);

}  // namespace rollcall::io
